import { sql, type SQL } from 'drizzle-orm';
import * as z from 'zod';
import type { PgColumn } from 'drizzle-orm/pg-core';
import { DAY, type Range, HOUR, union } from '../range.ts';
import { type Session, oneValue, type Database, writeTransaction } from '../postgres/database.ts';
import {
  bare,
  excluded,
  insertInto,
  multirangeParam,
  rangeParam,
  spansOfRow,
  setExcluded,
  spanOfRow,
  texts,
} from '../postgres/sql.ts';
import { coverage, leases, refused, wanted } from '../tables/etl/coverage.ts';
import { pages, failures } from '../tables/etl/pages.ts';
import { NoEndpointError, type EtlError } from '../errors.ts';

/** Seconds in which the source lacks blocks: no dataset can have all rows of them. */
export interface Gap {
  readonly span: Range;
  /** Which blocks are missing, in one sentence. */
  readonly detail: string;
  /** Minimum pause before the next attempt. */
  readonly pauseSeconds?: number;
}

/** A gap is stored as a refused range of blocks, even if blocks are not crawled. */
const BLOCKS = { dataset: 'blocks', scope: '', pass: 0 };
const REASON = 'source_gap' satisfies RefusalReason;
const isOfGap = sql`${refused.dataset} = ${BLOCKS.dataset} and ${refused.pass} = 0 and ${refused.reason} = ${REASON} and ${refused.retry_at} is not null`;

/** Seconds after a gap in which traces with transactions of the gap may end. */
const AFTERMATH = HOUR;

/** True if the refused range is a gap, which no dataset reads. */
export function isGap({ dataset, reason }: Pick<RefusedSpan, 'dataset' | 'reason'>): boolean {
  return dataset === BLOCKS.dataset && reason === REASON;
}

/** The seconds of all gaps, as a scalar within a statement. No dataset reads them until the blocks appear. */
export function gapSeconds(): SQL {
  return sql`coalesce((select range_agg(${refused.span}) from ${refused} where ${isOfGap}), '{}')`;
}

/**
 * Stores a gap, joined with those that it overlaps, and removes its seconds from the coverage of every dataset. The
 * pause before the next attempt doubles each time.
 */
export function keepGap(database: Database, gap: Gap): Promise<void> {
  return writeTransaction(database, async (session) => {
    const touching = await readGaps(session, [gap.span]);
    const [span] = union(
      [gap.span],
      touching.map((one) => one.span),
    );
    await refuseGap(session, { ...gap, span: span ?? gap.span });
  });
}

/** Replaces a gap by what is left of it. The rest is read again, and so are the ends of its traces and actions. */
export function renewGap(database: Database, old: Range, left: readonly Gap[]): Promise<void> {
  return writeTransaction(database, async (session) => {
    if (left.every(({ span }) => span.from !== old.from || span.to !== old.to))
      await session.run(
        sql`delete from ${refused} where ${isOfGap} and ${refused.span} = ${rangeParam(old)}`,
      );
    for (const gap of left) await refuseGap(session, gap);
    if (left.some(({ span }) => span.from <= old.from && span.to >= old.to)) return;
    const of = (dataset: SQL) => sql`${dataset} in ('traces', 'actions')`;
    await takeOutOfCoverage(session, multirangeParam([{ from: old.to, to: old.to + AFTERMATH }]), {
      leases: of(sql`${leases.dataset}`),
      coverage: of(sql`${coverage.dataset}`),
    });
  });
}

async function refuseGap(session: Session, { span, ...facts }: Gap): Promise<void> {
  await refuse(session, BLOCKS, span, { ...facts, reason: REASON });
  await takeOutOfCoverage(session, multirangeParam([span]), { leases: sql`true`, coverage: sql`true` });
}

const KeptGap = z.object({ span: spanOfRow, detail: z.string(), isDue: z.boolean() });

/** Gaps that touch one of the ranges; `isDue` if the pause before the next attempt is over. */
export function readGaps(
  session: Session,
  ranges: readonly Range[],
): Promise<(Gap & { readonly isDue: boolean })[]> {
  return refusedWhere(session, sql`${isOfGap} and ${refused.span} && ${multirangeParam(ranges)}`, KeptGap);
}

/** A dataset, as a whole (empty scope) or for one pool or account, read first (pass 0) or a second time (pass 1). */
export interface Stream {
  readonly dataset: string;
  readonly scope: string;
  readonly pass: number;
}

/**
 * Adds what a page completed, in SQL, so that two writers cannot undo each other. It is the last statement of a commit.
 */
export async function addCoverage(session: Session, stream: Stream, range: Range): Promise<void> {
  const { dataset, scope, pass, covered, updated_at } = coverage;
  await session.run(sql`
    ${insertInto(coverage, { ...stream, covered: sql`int8multirange(${rangeParam(range)})` })}
    on conflict (${bare(dataset, scope, pass)}) do update
      set ${bare(covered)} = ${covered} + ${excluded(covered)}, ${bare(updated_at)} = default`);
}

/** Removes ranges from a stream's coverage, so that they are read again, and deletes the leases that overlap them. */
export function subtractCoverage(session: Session, stream: Stream, holes: readonly Range[]): Promise<void> {
  const { dataset, scope, pass } = stream;
  return takeOutOfCoverage(session, multirangeParam(holes), {
    leases: sql`${leases.dataset} = ${dataset} and ${leases.scope} = ${scope} and ${leases.pass} = ${pass}`,
    coverage: ofStream(coverage, stream),
  });
}

/**
 * Removes ranges from the coverage rows that a condition selects. Overlapping leases are deleted first, which waits for
 * commits in progress: no page that was requested before can cover the ranges again.
 */
export async function takeOutOfCoverage(
  session: Session,
  ranges: SQL,
  where: { readonly leases: SQL; readonly coverage: SQL },
): Promise<void> {
  const { covered, verified, updated_at } = coverage;
  await session.run(sql`delete from ${leases} where ${where.leases} and ${leases.span} && ${ranges}`);
  await session.run(sql`
    update ${coverage} set ${bare(covered)} = ${covered} - ${ranges}, ${bare(verified)} = ${verified} - ${ranges},
      ${bare(updated_at)} = default
    where ${where.coverage} and ${covered} && ${ranges}`);
}

/** The covered ranges, oldest first. */
export async function readCoverage(session: Session, stream: Stream): Promise<Range[]> {
  return oneValue(session, sql`select ${coveredOf(stream)}::text`, spansOfRow);
}

/** The part of `wanted` that is not covered, oldest first. It includes leased and refused ranges. */
export async function readMissing(
  session: Session,
  stream: Stream,
  wanted: readonly Range[],
): Promise<Range[]> {
  return oneValue(session, sql`select (${multirangeParam(wanted)} - ${coveredOf(stream)})::text`, spansOfRow);
}

/** The covered ranges of a stream, as a scalar within a statement. */
export function coveredOf(stream: StreamColumns): SQL {
  return sql`coalesce((select ${coverage.covered} from ${coverage} where ${ofStream(coverage, stream)}), '{}')`;
}

/**
 * The seconds of some ranges that were ever covered, as a scalar within a statement: those that are covered now, and
 * those that a page completed. A page's rows lie within a day of the range that it completes.
 */
export function everReadOf(stream: StreamColumns, ranges: readonly Range[]): SQL {
  const hull = { from: (ranges[0]?.from ?? 0) - DAY, to: (ranges.at(-1)?.to ?? 0) + DAY };
  const all = multirangeParam(ranges);
  const completed = sql`select range_agg(${pages.completed}) from ${pages} where ${ofStream(pages, stream)}
    and ${pages.span} && ${rangeParam(hull)} and ${pages.completed} && ${all}`;
  // Pages are not searched if everything is covered, which is the usual case.
  return sql`(case when ${all} <@ ${coveredOf(stream)} then ${all}
    else ${all} * (${coveredOf(stream)} + coalesce((${completed}), '{}')) end)`;
}

/** The seconds of some ranges that were ever covered, oldest first. */
export async function readEverRead(
  session: Session,
  stream: Stream,
  ranges: readonly Range[],
): Promise<Range[]> {
  return oneValue(session, sql`select ${everReadOf(stream, ranges)}::text`, spansOfRow);
}

/** The ranges of a stream that must not be read yet, as a scalar within a statement. */
export function refusedOf(stream: StreamColumns): SQL {
  return sql`coalesce((select range_agg(${refused.span}) from ${refused}
    where ${ofStream(refused, stream)} and ${refused.reason} <> 'disputed' and ${refused.retry_at} > clock_timestamp()), '{}')`;
}

/**
 * For each first reading, the part of `range` that was covered at least `ageSeconds` ago and not confirmed by a second
 * reading. Two readings at shorter intervals could be answered from the same copy, and prove nothing. A second reading
 * that differed counts as a first one. It is one statement for all, because there are many pools.
 */
export async function readDue(
  session: Session,
  firsts: readonly Stream[],
  range: Range,
  ageSeconds: number,
): Promise<[Stream, Range[]][]> {
  if (firsts.length === 0) return [];
  const first = { dataset: sql`f.dataset`, scope: sql`f.scope`, pass: 0 };
  const again = { ...first, pass: 1 };
  const rows = await session.rows(
    sql`
      with f as (
        select ordinality as position, j->>'dataset' as dataset, j->>'scope' as scope
        from json_array_elements(${JSON.stringify(firsts)}::json) with ordinality as a (j, ordinality))
      select (${coveredOf(first)} * ${multirangeParam([range])} - ${coveredOf(again)} - ${refusedOf(again)}
        - coalesce((select range_agg(${pages.completed}) from ${pages}
            where ${ofStream(pages, first)} and ${pages.completed} is not null
              and ${pages.committed_at} > clock_timestamp() - make_interval(secs => ${ageSeconds})), '{}'))::text as spans
      from f order by position`,
    z.object({ spans: spansOfRow }),
  );
  return firsts.map((stream, index) => [stream, rows[index]?.spans ?? []]);
}

/** When a second reading of ranges can follow the first one, in unix seconds; undefined if no page was logged. */
export async function dueAt(
  session: Session,
  first: Stream,
  ranges: readonly Range[],
  ageSeconds: number,
): Promise<number | undefined> {
  const at = await oneValue(
    session,
    sql`select ceil(extract(epoch from max(${pages.committed_at})))::int8 + ${ageSeconds}::int8 from ${pages}
        where ${ofStream(pages, first)} and ${pages.completed} && ${multirangeParam(ranges)}`,
    z.coerce.number().nullable(),
  );
  return at ?? undefined;
}

/** Removes from the coverage of all datasets what pages of the last `ageSeconds` completed above a second. */
export async function withdrawReadSince(session: Session, from: number, ageSeconds: number): Promise<void> {
  const spans = await oneValue(
    session,
    sql`select (coalesce(range_agg(${pages.completed}), '{}') * int8multirange(int8range(${from}::int8, null)))::text
        from ${pages} where ${pages.completed} is not null
          and ${pages.committed_at} > clock_timestamp() - make_interval(secs => ${ageSeconds})`,
    spansOfRow,
  );
  if (spans.length === 0) return;
  await takeOutOfCoverage(session, multirangeParam(spans), { leases: sql`true`, coverage: sql`true` });
}

/** The columns that identify a stream within a statement; plain values become parameters. */
export interface StreamColumns {
  readonly dataset: string | SQL;
  readonly scope: string | SQL;
  readonly pass: number | SQL;
}

/** True of the rows of a table that belong to a stream. */
export function ofStream(
  table: { readonly dataset: PgColumn; readonly scope: PgColumn; readonly pass: PgColumn },
  { dataset, scope, pass }: StreamColumns,
): SQL {
  return sql`${table.dataset} = ${dataset} and ${table.scope} = ${scope} and ${table.pass} = ${pass}`;
}

/**
 * Why a range is refused. Every row of a `disputed` range is stored, but the source confirms values that do not agree.
 * Such a range is covered, and only its repair is postponed.
 */
export type RefusalReason = 'saturated' | 'source_gap' | 'failing' | 'changed' | 'disputed';

/** Reasons that verification finds: they end when the range is verified, not when it is read. */
const UNREPAIRED: readonly RefusalReason[] = ['source_gap', 'disputed'];

const isUnrepaired = sql`${refused.reason} in (${texts(UNREPAIRED)})`;

/** True of a range that must not be read for now. */
export const isRefused = sql`(${refused.reason} <> ${'disputed' satisfies RefusalReason} and ${refused.retry_at} is not null)`;

/** Why a range is refused, with one sentence for the operator. */
export interface Refusal {
  readonly reason: RefusalReason;
  readonly detail: string;
  /** Minimum pause before the next attempt. */
  readonly pauseSeconds?: number;
}

/**
 * Refuses a range, and replaces earlier refusals for the same reason that it touches: its borders may have moved since
 * the last attempt. The range is not read before its pause is over. The first pause is a minute; each further one is
 * twice as long, at most a day.
 */
export async function refuse(session: Session, stream: Stream, range: Range, why: Refusal): Promise<void> {
  const { dataset, scope, pass, span, reason, detail, attempts, first_at, retry_at } = refused;
  const key = bare(dataset, scope, pass, span);
  const same = UNREPAIRED.includes(why.reason) ? UNREPAIRED : [why.reason];
  const before = sql`coalesce(max(b.attempts), 0)`;
  await session.run(sql`
    with before as (
      delete from ${refused} where ${ofStream(refused, stream)} and (${span} = ${rangeParam(range)}
        or (${reason} in (${texts(same)}) and ${span} && ${rangeParam(range)}))
      returning ${attempts}, ${first_at})
    insert into ${refused} (${key}, ${bare(reason, detail, attempts, first_at, retry_at)})
    select ${stream.dataset}, ${stream.scope}, ${stream.pass}::int, ${rangeParam(range)}, ${why.reason}, ${why.detail},
      ${before} + 1, coalesce(min(b.first_at), now()),
      clock_timestamp() + greatest(make_interval(secs => ${why.pauseSeconds ?? 0}),
        least(interval '1 day', interval '1 minute' * 2 ^ least(${before}, 20)))
    from before b
    on conflict (${key}) do update set ${setExcluded(reason, detail, attempts, retry_at)}`);
}

/** Ends the pauses of refused ranges of some datasets, except of ranges that have to mature first. */
export async function endPauses(session: Session, datasets: readonly string[], span: Range): Promise<void> {
  await session.run(sql`
    update ${refused} set ${bare(refused.retry_at)} = clock_timestamp()
    where ${refused.dataset} = any(${sql.param([...datasets])}) and ${refused.span} && ${rangeParam(span)}
      and ${isRefused} and ${refused.reason} <> ${'changed' satisfies RefusalReason}
      and ${refused.retry_at} > clock_timestamp()`);
}

/**
 * Forgets refusals of a range that has been read. The number of attempts at a gap is kept until the gap is verified.
 */
export async function forgetRefusals(session: Session, stream: Stream, span: Range): Promise<void> {
  const isRead = sql`${ofStream(refused, stream)} and ${refused.span} <@ ${rangeParam(span)}`;
  await session.run(sql`
    with known as (
      update ${refused} set ${bare(refused.retry_at)} = null
      where ${isRead} and ${refused.reason} = ${'source_gap' satisfies RefusalReason})
    delete from ${refused} where (${isRead} and not ${isUnrepaired})
      or (${ofStream(refused, stream)} and ${refused.reason} = 'failing' and ${refused.span} && ${rangeParam(span)})`);
}

/** Forgets refusals by verification, if their ranges have been verified since. */
export async function forgetUnrepaired(
  session: Session,
  stream: Stream,
  verified: readonly Range[],
): Promise<void> {
  await session.run(sql`
    delete from ${refused} where ${ofStream(refused, stream)} and ${isUnrepaired}
      and ${refused.span} <@ ${multirangeParam(verified)}`);
}

/** Refused ranges that a condition selects, with the members that `row` names. */
function refusedWhere<Row>(session: Session, condition: SQL, row: z.ZodType<Row>): Promise<Row[]> {
  return session.rows(
    sql`select ${refused.dataset}, ${refused.scope}, ${refused.span}::text, ${refused.reason}, ${refused.detail},
          ${refused.attempts}, ceil(extract(epoch from ${refused.retry_at}))::int8 as "retryAt",
          coalesce(${refused.retry_at} <= clock_timestamp(), true) as "isDue"
        from ${refused} where ${condition} order by ${refused.dataset}, ${refused.scope}, lower(${refused.span})`,
    row,
  );
}

const Unrepaired = z.object({ span: spanOfRow, reason: z.string(), isDue: z.boolean() });

/** Ranges that verification refused, and whether they may be read again. */
export function readUnrepaired(session: Session, stream: Stream): Promise<z.infer<typeof Unrepaired>[]> {
  return refusedWhere(session, sql`${ofStream(refused, stream)} and ${isUnrepaired}`, Unrepaired);
}

/** How many ranges verification has refused, over all datasets. */
export async function countUnrepaired(session: Session): Promise<number> {
  return oneValue(session, sql`select count(*) from ${refused} where ${isUnrepaired}`, z.coerce.number());
}

const RefusedSpan = z.object({
  dataset: z.string(),
  scope: z.string(),
  span: spansOfRow,
  reason: z.string(),
  detail: z.string(),
  attempts: z.number(),
  retryAt: z.coerce.number(),
});

/** A range that could not be read, the reason, and when it is retried, in unix seconds. */
export type RefusedSpan = z.infer<typeof RefusedSpan>;

export function readAllRefused(session: Session): Promise<RefusedSpan[]> {
  return refusedWhere(session, isRefused, RefusedSpan);
}

const RefusedRange = z.object({ span: spanOfRow, retryAt: z.coerce.number() });

/** Ranges of a stream that were refused for one reason, and when each is retried, in unix seconds. */
export function readRefused(
  session: Session,
  stream: Stream,
  reason: RefusalReason,
): Promise<z.infer<typeof RefusedRange>[]> {
  return refusedWhere(
    session,
    sql`${ofStream(refused, stream)} and ${refused.reason} = ${reason}`,
    RefusedRange,
  );
}

/** Stores a dataset's last error for `status`. */
export async function recordFailure(
  session: Session,
  { dataset, scope }: Stream,
  error: EtlError,
): Promise<void> {
  const { code, message, hint, times, at } = failures;
  await session.run(sql`
    ${insertInto(failures, { dataset, scope, code: error.code, message: error.message, hint: error.hint })}
    on conflict (${bare(failures.dataset, failures.scope)}) do update
      set ${setExcluded(code, message, hint)}, ${bare(times)} = ${times} + 1, ${bare(at)} = default`);
}

/** The endpoint that the server does not have, if that is why a dataset failed. */
export function endpointOf({
  code,
  message,
}: {
  readonly code: string;
  readonly message: string;
}): string | undefined {
  return code === NO_ENDPOINT ? (/^GET (\S+)/.exec(message)?.[1] ?? 'such endpoint') : undefined;
}

const NO_ENDPOINT = new NoEndpointError('').code;

const Row = z.object({ dataset: z.string(), since: z.coerce.number() });

/** The time from which each dataset is kept complete, in unix seconds. */
export async function readWanted(session: Session): Promise<Map<string, number>> {
  const rows = await session.rows(sql`select ${wanted.dataset}, ${wanted.since} from ${wanted}`, Row);
  return new Map(rows.map(({ dataset, since }) => [dataset, since]));
}

/**
 * Keeps the decision of an earlier start, unless the text of the setting has changed since: `-7d` means seven days
 * before the start that first had it. A default changes nothing, so a restored database keeps its own decision.
 */
export async function keepWanted(
  session: Session,
  dataset: string,
  {
    since,
    chosen,
    isDefault = false,
  }: { readonly since: number; readonly chosen: string; readonly isDefault?: boolean },
): Promise<void> {
  await session.run(sql`
    ${insertInto(wanted, { dataset, since, chosen })}
    on conflict (${bare(wanted.dataset)}) do update
      set ${setExcluded(wanted.since, wanted.chosen)}, ${bare(wanted.updated_at)} = default
    where not ${isDefault} and ${wanted.chosen} <> ${excluded(wanted.chosen)}`);
}
