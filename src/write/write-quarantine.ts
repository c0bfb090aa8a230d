import { sql, type SQL } from 'drizzle-orm';
import { stringify } from 'lossless-json';
import { formatTime, toRangeText } from '../range.ts';
import type { Rejected } from '../dataset/job.ts';
import type { Extra } from '../dataset/declaration/record.ts';
import type { Stream } from '../ledger/stored-coverage.ts';
import type { Session } from '../postgres/database.ts';
import { bare, excluded, setExcluded, texts } from '../postgres/sql.ts';
import { quarantine, schemaDrift } from '../tables/etl/quarantine.ts';

/** Longest stored path, in characters. A name may be as long as a body, and an index takes at most 2,700 bytes. */
const LONGEST_PATH = 300;
/** Most bytes in one statement, unless a single record is longer. */
const LONGEST_STATEMENT = 2 ** 24;

export interface CommittedRecords {
  readonly stream: Stream;
  /** The request that returned them. */
  readonly request: string;
  readonly rejected: readonly Rejected[];
  /** Unknown members of each accepted record that has some. */
  readonly extras: readonly Extra[];
  /** Identities of the accepted records: they leave quarantine. */
  readonly ids: readonly string[];
}

export async function writeAnomalies(
  session: Session,
  records: CommittedRecords,
  isAnyQuarantined: boolean,
): Promise<void> {
  const { stream, request, rejected, extras, ids } = records;
  if (rejected.length > 0) await quarantineRecords(session, stream, request, rejected);
  if (isAnyQuarantined || rejected.length > 0) await releaseRecords(session, stream, ids);
  if (extras.length > 0) await countDrift(session, stream.dataset, extras);
}

interface QuarantineRow {
  readonly record_id: string;
  readonly utime: string;
  readonly span: string;
  readonly path: string;
  readonly reason: string;
  readonly raw: string;
  attempts: number;
}

/** Stores records that did not fit, once for each range of seconds where they may lie, and counts repetitions. */
export async function quarantineRecords(
  session: Session,
  stream: Stream,
  request: string,
  rejected: readonly Rejected[],
): Promise<void> {
  const { dataset, scope, record_id, utime, span, path, reason, raw, attempts, last_at } = quarantine;
  const columns = bare(
    dataset,
    scope,
    quarantine.request,
    record_id,
    utime,
    span,
    path,
    reason,
    raw,
    attempts,
  );
  for (const some of statementsOf(unfitOnce(rejected))) {
    await session.run(sql`
      insert into ${quarantine} (${columns})
      select ${stream.dataset}, ${stream.scope}, ${request}, r.record_id, r.utime, r.span, r.path, r.reason, r.raw, r.attempts
      from json_to_recordset(${JSON.stringify(some)}::json) as r (record_id text, utime timestamptz, span int8range,
        path text, reason text, raw text, attempts int)
      order by r.record_id, r.span
      on conflict (${bare(dataset, scope, record_id, span)}) do update
        set ${setExcluded(path, reason, raw, quarantine.request)},
          ${bare(attempts)} = ${attempts} + ${excluded(attempts)}, ${bare(last_at)} = default`);
  }
}

/** A statement cannot change a row twice, so the last record with the same id and range counts. */
function unfitOnce(rejected: readonly Rejected[]): QuarantineRow[] {
  const known = new Map<string, QuarantineRow>();
  for (const { position, span, path, reason, raw } of rejected) {
    const own = {
      record_id: position.id,
      utime: formatTime(position.utime),
      span: toRangeText(span),
      path: shortened(path),
      reason,
      raw: stringify(raw) ?? 'null',
    };
    const key = `${own.span} ${own.record_id}`;
    known.set(key, { ...own, attempts: (known.get(key)?.attempts ?? 0) + 1 });
  }
  return [...known.values()];
}

function shortened(path: string): string {
  return path.length > LONGEST_PATH ? `${path.slice(0, LONGEST_PATH)}…` : path;
}

function statementsOf(records: readonly QuarantineRow[]): QuarantineRow[][] {
  const statements: QuarantineRow[][] = [];
  let bytes = Infinity;
  for (const record of records) {
    bytes += record.raw.length;
    if (bytes > LONGEST_STATEMENT) {
      statements.push([]);
      bytes = record.raw.length;
    }
    statements.at(-1)?.push(record);
  }
  return statements;
}

/**
 * True if records of a stream are in quarantine. It is checked before records are released, because there are many ids.
 */
export async function hasQuarantined(session: Session, stream: Stream): Promise<boolean> {
  return (await session.run(sql`select 1 from ${quarantine} where ${isOf(stream)} limit 1`)) > 0;
}

/** Removes records that fit now from quarantine. */
async function releaseRecords(session: Session, stream: Stream, ids: readonly string[]): Promise<void> {
  await session.run(sql`
    delete from ${quarantine} where ${isOf(stream)} and ${quarantine.record_id} in (${texts(ids)})`);
}

function isOf({ dataset, scope }: Stream): SQL {
  return sql`${quarantine.dataset} = ${dataset} and ${quarantine.scope} = ${scope}`;
}

interface DriftedMember {
  readonly path: string;
  readonly type: string;
  readonly example: unknown;
  readonly times: number;
}

/** Members that one commit stores by name. Further ones are only counted. */
const MOST_DRIFTS = 100;
/** Characters that are stored of a longer example. */
const LONGEST_EXAMPLE = 1000;

/** Counts members that have no column. */
export async function countDrift(session: Session, dataset: string, extras: readonly Extra[]): Promise<void> {
  const drifts = driftsOf(extras);
  const { path, type, example, times, last_at } = schemaDrift;
  await session.run(sql`
    insert into ${schemaDrift} (${bare(schemaDrift.dataset, path, type, example, times)})
    select ${dataset}, r.path, r.type, coalesce(r.example, 'null'), r.times
    from json_to_recordset(${stringify(drifts) ?? '[]'}::json) as r (path text, type text, example jsonb, times int8)
    order by r.path, r.type
    on conflict (${bare(schemaDrift.dataset, path, type)}) do update
      set ${bare(times)} = ${times} + ${excluded(times)}, ${bare(last_at)} = default`);
}

function driftsOf(extras: readonly Extra[]): DriftedMember[] {
  const drifts = new Map<string, DriftedMember>();
  let further = 0;
  for (const [member, value] of extras.flatMap((extra) => Object.entries(extra))) {
    const path = shortened(member.replace(/\.\d+(?=\.|$)/g, '.*'));
    const type = typeOf(value);
    const known = drifts.get(`${path} ${type}`);
    if (known === undefined && drifts.size >= MOST_DRIFTS) further += 1;
    else {
      const times = (known?.times ?? 0) + 1;
      drifts.set(`${path} ${type}`, { path, type, example: known?.example ?? exampleOf(value), times });
    }
  }
  const others = { path: '…', type: 'others', example: null, times: further };
  return [...drifts.values(), ...(further > 0 ? [others] : [])];
}

function exampleOf(value: unknown): unknown {
  const text = stringify(value) ?? 'null';
  return text.length > LONGEST_EXAMPLE ? `${text.slice(0, LONGEST_EXAMPLE)}…` : value;
}

function typeOf(value: unknown): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'array';
  return typeof value === 'bigint' ? 'number' : typeof value;
}
