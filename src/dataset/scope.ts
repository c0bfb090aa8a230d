import type { Job } from './job.ts';

/** Which of a table's rows are meant: those of one pool or account, or all. */
export type Scope = { readonly column: string; readonly value: string } | undefined;

/** The rows that are read for `scope`, where a job is read pool by pool. */
export function scopeOf({ scopes }: Pick<Job, 'scopes'>, { scope }: { readonly scope: string }): Scope {
  return scopes && { column: scopes.column, value: scope };
}
