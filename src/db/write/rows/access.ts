import { find } from '../../../dataset/bytes/layout.ts';
import type { Layout } from '../../../dataset/bytes/object-reader.ts';
import { valueOf, type MemberKind } from '../../../dataset/bytes/view.ts';
import type { CopyColumn } from './copy-text.ts';

/** How compiled code comes by the members of a record `r`: expressions, and the values that they use by name. */
export interface Access {
  readonly scope: Readonly<Record<string, unknown>>;
  /** The value of a member. */
  readonly value: (path: readonly string[]) => string;
  /** True where a member is null or was not sent. */
  readonly isAbsent: (path: readonly string[]) => string;
  /** The slot of a member that can be written as it stands; undefined where it has to become a value first. */
  readonly standing: (path: readonly string[], column: CopyColumn['kind']) => number | undefined;
  /** Writes what stands in slots to `out`, one after another. */
  readonly copy: (slots: readonly number[]) => string;
}

/** Of records that are objects. */
export const ofObjects: Access = {
  scope: {},
  value: memberAt,
  isAbsent: (path) => `${memberAt(path)} == null`,
  standing: () => undefined,
  copy: () => '',
};

function memberAt(path: readonly string[]): string {
  return `r${path.map((name, depth) => `${depth === 0 ? '' : '?.'}[${JSON.stringify(name)}]`).join('')}`;
}

/** Of records that are views. */
export function ofViews(layout: Layout): Access {
  const scope: Record<string, unknown> = { valueOf };
  const member = (path: readonly string[], use: (slot: number, name: string) => string | undefined) => {
    const found = find(layout, path);
    if (found === undefined) return undefined;
    const name = `member${found.slot}`;
    scope[name] = found.member;
    return use(found.slot, name);
  };
  return {
    scope,
    value: (path) => member(path, (slot, name) => `valueOf(r, ${slot}, ${name})`) ?? memberAt(path),
    isAbsent: (path) =>
      member(path, (slot) => `r.$page.slots[2 * (r.$slot + ${slot})] <= 0`) ?? ofObjects.isAbsent(path),
    standing: (path, column) => {
      const found = find(layout, path);
      return found !== undefined && STANDING[column].includes(found.member.kind) ? found.slot : undefined;
    },
    copy: (slots) => {
      const name = `slots${slots.join('_')}`;
      scope[name] = Int32Array.from(slots);
      return `out.standing(r.$page, r.$slot, ${name})`;
    },
  };
}

/** Which members stand in a body as they stand in a column. */
const STANDING: Readonly<Record<CopyColumn['kind'], readonly MemberKind[]>> = {
  text: ['text', 'scalar'],
  json: ['json'],
  array: [],
};
