import type { Query } from './simulator-query.ts';

/** The archive of a server: a copy whose newest data are `lagSeconds` old. */
export interface ArchiveOptions {
  /** Windows that began longer ago go to the archive. */
  readonly ageSeconds: number;
  readonly lagSeconds: number;
}

/** Lists that are split between the newest data and the archive. */
const SPLIT = new Set([
  '/api/v3/blocks',
  '/api/v3/transactions',
  '/api/v3/messages',
  '/api/v3/traces',
  '/api/v3/events',
  '/api/v3/actions',
  '/api/v3/jetton/transfers',
  '/api/v3/jetton/burns',
  '/api/v3/nft/transfers',
]);

/**
 * True if a request goes to the archive. A window that begins before the split goes there whole, even if a part of it is
 * in the newest data only. So does a scan upwards from the beginning.
 */
export function asksArchive(
  path: string,
  query: Query,
  headTime: number,
  { ageSeconds }: ArchiveOptions,
): boolean {
  if (!SPLIT.has(path) || query.has('mc_seqno')) return false;
  const start = query.utime('start_utime');
  if (start !== undefined) return start < headTime - ageSeconds;
  return !query.has('start_lt') && ['asc', 'a'].includes((query.text('sort') ?? '').toLowerCase());
}
