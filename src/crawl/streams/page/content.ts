import type { AcceptedRecord, RecordsReading, Rejected } from '../../../dataset/job.ts';
import type { Extra } from '../../../dataset/record.ts';
import type { Tables } from '../../../dataset/rows.ts';
import { linesOfRecords } from '../../../db/write/rows/lines.ts';
import type { Lines } from '../../../db/write/rows/line-bytes.ts';
import type { Range } from '../../../range.ts';
import { isInside } from '../../../range.ts';

/** What pages have to write. */
export interface Content extends Oddities {
  /** Rows of the accepted records, table by table. */
  readonly rows: readonly Lines[];
  /** Identities of the accepted records. */
  readonly ids: readonly string[];
}

/** What of pages people may have to look at. */
export interface Oddities {
  readonly rejected: readonly Rejected[];
  /** Unknown members of each accepted record that has some. */
  readonly extras: readonly Extra[];
}

export function contentOf(
  tables: Tables,
  reading: Inside,
  how?: Parameters<typeof linesOfRecords>[2],
): Content {
  const { accepted } = reading;
  return {
    rows: linesOfRecords(tables, accepted, how),
    ids: idsOf(reading),
    ...odditiesOf(reading),
  };
}

export function idsOf({ accepted }: Inside): string[] {
  return accepted.map(({ position }) => position.id);
}

export function odditiesOf({ accepted, rejected }: Inside): Oddities {
  return { rejected, extras: extrasOf(accepted) };
}

/** The unknown members of each record that has some. */
export function extrasOf(records: readonly { readonly extra: Extra }[]): Extra[] {
  return records.map(({ extra }) => extra).filter((extra) => Object.keys(extra).length > 0);
}

/** The records of pages that are written with them. */
export interface Inside {
  readonly accepted: readonly AcceptedRecord[];
  readonly rejected: readonly Rejected[];
}

/**
 * What of pages lies in the seconds that are exchanged, or in the lease: a page that looks ahead for successors ends
 * beyond it, anywhere, and what the tables hold must not depend on where pages end. The rest is read with its own second.
 */
export function inside(
  readings: readonly Pick<RecordsReading, 'accepted' | 'rejected'>[],
  span: Range | undefined,
): Inside {
  const isWritten = ({ position }: { readonly position: { readonly utime: number } }) =>
    span !== undefined && isInside(position.utime, span);
  return {
    accepted: readings.flatMap(({ accepted }) => accepted.filter(isWritten)),
    rejected: readings.flatMap(({ rejected }) => rejected.filter(isWritten)),
  };
}
