import type { Target } from './insert.ts';

/**
 * The one order in which all processes write tables, so that two commits wait for each other instead of deadlocking. Parts
 * come before their wholes: an older copy of a whole shows which parts are out of date, as long as it is there.
 */
export function writingOrder(a: Target, b: Target): number {
  return rank(a) < rank(b) ? -1 : 1;
}

function rank({ name, facts }: Target): string {
  const isPart = facts.supersedes !== undefined && facts.supersedes.of !== name;
  return `${isPart ? 'part' : 'whole'} ${name}`;
}
