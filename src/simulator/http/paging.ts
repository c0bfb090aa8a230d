import type { Build } from '../build.ts';
import type { Query } from './simulator-query.ts';
import { ServedError } from './served-error.ts';

export type Sort = 'asc' | 'desc';

export interface Paging {
  readonly limit: number;
  readonly offset: number;
  /** Undefined if the request does not say. */
  readonly sort: Sort | undefined;
}

const DEFAULT_LIMIT = 100;

/**
 * limit, offset and sort of a list endpoint. Values below the minimum are clamped. Values above the maximum are
 * refused, by build 1.2 with a 500.
 */
export function parsePaging(query: Query, build: Build, defaultLimit = DEFAULT_LIMIT): Paging {
  const limit = query.int32('limit') ?? defaultLimit;
  const offset = query.int32('offset') ?? 0;
  const status = build === '1.2' ? 500 : 422;
  if (limit > query.most) throw new ServedError(status, `limit is not allowed: ${limit} > ${query.most}`);
  return {
    limit: Math.max(1, limit),
    offset: Math.max(0, offset),
    sort: parseSort(query.text('sort'), status),
  };
}

function parseSort(text: string | undefined, status: number): Sort | undefined {
  if (text === undefined) return undefined;
  const lower = text.toLowerCase();
  if (lower === 'asc' || lower === 'a') return 'asc';
  if (lower === 'desc' || lower === 'd') return 'desc';
  throw new ServedError(status, 'wrong value for sort parameter');
}

/** The rows of one page of an already ordered sequence. */
export function cutPage(
  rows: Iterable<number>,
  { limit, offset }: Pick<Paging, 'limit' | 'offset'>,
): number[] {
  const page: number[] = [];
  let skipped = 0;
  for (const row of rows) {
    if (skipped < offset) skipped++;
    else if (page.push(row) === limit) break;
  }
  return page;
}
