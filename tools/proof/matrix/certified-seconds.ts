import pg from 'pg';
import { parseRangeText, type Range } from '../../../src/range.ts';
import type { Occurrence } from './occurrences.ts';

/** The seconds that each dataset certifies. */
export type Certified = ReadonlyMap<string, readonly Range[]>;

export async function readCertified(client: pg.Client): Promise<Certified> {
  const { rows } = await client.query<{ stream: string; verified: string }>(
    `select dataset || '/' || scope as stream, verified::text as verified from etl.coverage where pass = 0`,
  );
  return new Map(rows.map(({ stream, verified }) => [stream, parseRangeText(verified)]));
}

export function isCertified(certified: Certified, { dataset, scope, seconds }: Occurrence): boolean {
  const ranges = certified.get(`${dataset}/${scope}`) ?? [];
  return seconds.every((second) => ranges.some(({ from, to }) => second >= from && second < to));
}

/** False for a pool that is not read: no reading certifies a row that is moved to it. */
export function isKnownStream(certified: Certified, { dataset, scope }: Occurrence): boolean {
  return certified.has(`${dataset}/${scope}`);
}

/**
 * True if an analyst who asks for one of the seconds is refused: `covered`, for every grade; `highest`, for
 * the grade of what verification proves.
 */
export async function isRefused(
  client: pg.Client,
  { dataset, seconds }: Occurrence,
  grade: 'covered' | 'highest',
): Promise<boolean> {
  for (const second of seconds) {
    try {
      await client.query(
        `select etl.assert_complete($1, to_timestamp($2), to_timestamp($3),
          case $4 when 'covered' then 'covered' else (select grade from etl.grades where dataset = $1) end)`,
        [dataset, second, second + 1, grade],
      );
    } catch (error) {
      if (error instanceof pg.DatabaseError) return true;
      throw error;
    }
  }
  return false;
}
