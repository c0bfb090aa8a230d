import type { Extra } from '../../dataset/record.ts';

/** True for a phase that was sent, but with nothing in it: its columns alone would say that it was not sent. */
export function isEmpty(phase: object | null | undefined): phase is object {
  return phase != null && Object.values(phase).every((value) => value == null);
}

/** An object without members is stored as null. */
export function orNull(extra: Extra): Extra | null {
  return Object.keys(extra).length === 0 ? null : extra;
}
