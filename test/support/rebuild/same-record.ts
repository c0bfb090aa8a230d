import { isDeepStrictEqual } from 'node:util';
import { omissions } from './omissions.ts';

/** Free-form JSON: a null in it is kept. */
const FREE_FORM = /^(decoded|extra|details)$|currencies$/;

type Json = Readonly<Record<string, unknown>>;

/**
 * True if a record that is rebuilt from the tables equals the API's. The one deliberate equivalence: a
 * missing member equals one that is null. Members on the list of omissions are not compared.
 */
export function sameRecord(endpoint: string, rebuilt: unknown, original: unknown): boolean {
  return isSame(rebuilt, original, '', omittedOf(endpoint));
}

/** The part of a record that is compared: for the message of a failed test. */
export function comparable(endpoint: string, record: unknown): unknown {
  return pruned(record, '', omittedOf(endpoint));
}

const omittedOf = (endpoint: string): ReadonlySet<string> =>
  new Set(omissions.filter((one) => one.endpoint === endpoint).map((one) => one.member));

// Compares in place: a proof compares hundreds of thousands of records, and copies would be expensive.
function isSame(left: unknown, right: unknown, path: string, omitted: ReadonlySet<string>): boolean {
  if (left === right) return true;
  if (typeof left !== 'object' || typeof right !== 'object' || left === null || right === null) return false;
  if (Array.isArray(left) || Array.isArray(right)) {
    if (!Array.isArray(left) || !Array.isArray(right) || left.length !== right.length) return false;
    return left.every((element, index) => isSame(element, right[index], `${path}[]`, omitted));
  }
  const [ours, theirs] = [left as Json, right as Json];
  const names = [...Object.keys(ours), ...Object.keys(theirs).filter((name) => ours[name] == null)];
  return names.every((name) => {
    const inner = path === '' ? name : `${path}.${name}`;
    if ((ours[name] == null && theirs[name] == null) || omitted.has(inner)) return true;
    return FREE_FORM.test(name)
      ? isDeepStrictEqual(ours[name], theirs[name])
      : isSame(ours[name], theirs[name], inner, omitted);
  });
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
