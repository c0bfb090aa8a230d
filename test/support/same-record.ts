import { isDeepStrictEqual } from 'node:util';
import { omissions } from '../../src/db/schema/omissions.ts';

/** JSON whose inner shape is not the API's: a null in it is kept. */
const FREE_FORM = /^(decoded|extra|details)$|currencies$/;

/**
 * True where a record rebuilt from the tables says what the API said. The one deliberate equivalence: a member that is
 * left out equals one that is null. Members on the list of omissions are not compared.
 */
export function sameRecord(endpoint: string, rebuilt: unknown, original: unknown): boolean {
  return isDeepStrictEqual(comparable(endpoint, rebuilt), comparable(endpoint, original));
}

/** The part of a record that is compared. */
export function comparable(endpoint: string, record: unknown): unknown {
  const omitted = new Set(omissions.filter((one) => one.endpoint === endpoint).map((one) => one.member));
  return pruned(record, '', omitted);
}

function pruned(value: unknown, path: string, omitted: ReadonlySet<string>): unknown {
  if (Array.isArray(value)) return value.map((element) => pruned(element, `${path}[]`, omitted));
  if (typeof value !== 'object' || value === null) return value;
  const kept: [string, unknown][] = [];
  for (const [name, member] of Object.entries(value)) {
    const inner = path === '' ? name : `${path}.${name}`;
    if (member == null || omitted.has(inner)) continue;
    kept.push([name, FREE_FORM.test(name) ? member : pruned(member, inner, omitted)]);
  }
  return Object.fromEntries(kept);
}
