import { find, type Layout } from '../../../dataset/bytes/layout.ts';
import { valueOf, type MemberKind } from '../../../dataset/bytes/view.ts';

/** How compiled code comes by the members of a record `r`: expressions, and the values that they use by name. */
export interface Access {
  readonly scope: Readonly<Record<string, unknown>>;
  /** The value of a member. */
  readonly value: (path: readonly string[]) => string;
  /** True where a member is null or was not sent. */
  readonly isAbsent: (path: readonly string[]) => string;
  /** Writes a member to `out` as it stands, to a column of JSON or another one; undefined where it has to become a value first. */
  readonly copy: (path: readonly string[], isJson: boolean) => string | undefined;
}

/** Of records that are objects. */
export const ofObjects: Access = {
  scope: {},
  value: memberAt,
  isAbsent: (path) => `${memberAt(path)} == null`,
  copy: () => undefined,
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
    copy: (path, isJson) => {
      const found = find(layout, path);
      const kinds: readonly MemberKind[] = isJson ? ['json'] : ['text', 'scalar'];
      if (found === undefined || !kinds.includes(found.member.kind)) return undefined;
      return `out.${isJson ? 'standingJson' : 'standing'}(r.$page, r.$slot + ${found.slot})`;
    },
  };
}
