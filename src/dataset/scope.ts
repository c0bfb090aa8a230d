import type { Job } from './job.ts';

/** The rows of a table that are meant: those of one pool or account, or all. */
export type Scope = { readonly column: string; readonly value: string } | undefined;

/** The rows of `scope`, if the job is read pool by pool. */
export function scopeOf({ scopes }: Pick<Job, 'scopes'>, { scope }: { readonly scope: string }): Scope {
  return scopes && { column: scopes.column, value: scope };
}
