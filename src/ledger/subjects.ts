import { sql, type SQL } from 'drizzle-orm';
import * as z from 'zod';
import type { SeenIn, Subject, Subjects } from '../dataset/walk.ts';
import type { Range } from '../range.ts';
import type { Session } from '../postgres/database.ts';
import { bare, excluded, setExcluded, texts, during } from '../postgres/sql.ts';
import { lookups } from '../tables/etl/cursors.ts';
import { pages } from '../tables/etl/pages.ts';
import { watch } from '../tables/etl/watch-list.ts';
import { readClock } from '../postgres/server-facts.ts';

const Scope = z.object({ scope: z.string() });

/** Addresses that may be nominator pools of a dataset, in raw form, as `etl.scopes` lists them. */
export async function readPools(session: Session, dataset: string): Promise<string[]> {
  const rows = await session.rows(
    sql`select scope from etl.scopes where dataset = ${dataset} order by 1`,
    Scope,
  );
  return rows.map(({ scope }) => scope);
}

/** Seconds by which a gathering overlaps the previous one: commits take a while to become visible. */
const OVERLAP = 120;

/** One of a dataset's lookups. */
export interface LookupName {
  readonly dataset: string;
  readonly walk: string;
}

interface SubjectGathering extends LookupName {
  readonly subjects: Subjects;
  /** If false, only the watch list is read. */
  readonly seen: boolean;
  /** The range for `Subjects.ofRange`. */
  readonly range: Range | undefined;
  /** Unix seconds of the last gathering; undefined before the first. */
  readonly since: number | undefined;
}

/**
 * Stores every new subject that the watch list and the relations name, and how far known ones have moved. In streams,
 * it searches only the parts into which something was committed since the last time.
 * @returns the moment of this gathering, unix seconds on the database's clock
 */
export async function gatherSubjects(session: Session, gathering: SubjectGathering): Promise<number> {
  const now = await readClock(session);
  const { subjects, seen } = gathering;
  if (subjects.watched) {
    await note(
      session,
      gathering,
      sql`select ${watch.address} as subject, null::jsonb as fields, null::int8 as lt from ${watch}`,
    );
  }
  if (seen) {
    for (const source of subjects.seenIn) await note(session, gathering, namedIn(source, gathering));
  }
  return now;
}

/** Addresses that name no account: none, external ones, and those of variable length. */
const NO_SUBJECT = String.raw`^(addr_none|(ext|var)\$.*)?$`;

const KEY = bare(lookups.dataset, lookups.walk, lookups.subject);

async function note(session: Session, { dataset, walk }: LookupName, source: SQL): Promise<void> {
  const { fields, seen_lt, again_at } = lookups;
  await session.run(sql`
    insert into ${lookups} (${KEY}, ${bare(fields, seen_lt, again_at)})
    select ${dataset}, ${walk}, s.subject, (array_agg(s.fields))[1], max(s.lt), clock_timestamp()
    from (${source}) s where s.subject !~ ${NO_SUBJECT} group by s.subject order by s.subject
    on conflict (${KEY}) do update set ${setExcluded(seen_lt)}
      where ${excluded(seen_lt)} > coalesce(${seen_lt}, -1)`);
}

function namedIn(source: SeenIn, { subjects, range, since }: SubjectGathering): SQL {
  const column = (name: string) => sql`r.${sql.identifier(name)}`;
  const fields = (source.fields ?? []).map((name) => sql`${name}::text, ${column(name)}::text`);
  const object =
    fields.length === 0 ? sql`null::jsonb` : sql`jsonb_build_object(${sql.join(fields, sql`, `)})`;
  const lt = source.lt === undefined ? sql`null::int8` : sql`${column(source.lt)}::int8`;
  const [schema = '', relation = ''] = source.relation.split('.');
  const from = sql`${sql.identifier(schema)}.${sql.identifier(relation)} r`;
  const select = sql`select ${column(source.key)} as subject, ${object} as fields, ${lt} as lt from`;
  if (subjects.ofRange === true) {
    return sql`${select} ${from} where ${during('r', range ?? { from: 0, to: 0 })}`;
  }
  if (since === undefined) return sql`${select} ${from}`;
  const before = sql`to_timestamp(${since - OVERLAP}::float8)`;
  if (source.time === 'loaded_at') return sql`${select} ${from} where r.loaded_at >= ${before}`;
  return sql`${select} (
      select unnest(range_agg(${pages.span})) as span from ${pages}
      where ${pages.committed_at} >= ${before} and not isempty(${pages.span})) p
    join ${from} on r.utime >= to_timestamp(lower(p.span)) and r.utime < to_timestamp(upper(p.span))`;
}

/** Stores how far subjects have moved according to the source, for those that no indexed row mentions. */
export async function noteMoves(
  session: Session,
  { dataset, walk }: LookupName,
  moves: readonly { readonly key: string; readonly lt: string }[],
): Promise<void> {
  await session.run(sql`
    update ${lookups} set ${bare(lookups.seen_lt)} = m.lt
    from (select j->>'key' as subject, (j->>'lt')::int8 as lt from json_array_elements(${JSON.stringify(moves)}::json) j) m
    where ${isOf(dataset, walk)} and ${lookups.subject} = m.subject and m.lt > coalesce(${lookups.seen_lt}, -1)`);
}

const Due = z.object({ key: z.string(), fields: z.record(z.string(), z.string()).nullable() });

interface DueOptions extends LookupName {
  /** Subjects that were requested since then are not due again, unix seconds: each is requested once in a run. */
  readonly before: number;
  readonly onlyWatched: boolean;
  readonly except?: readonly string[];
  /** If true, postponed subjects are due at once. */
  readonly unserved: boolean;
  readonly limit: number;
  /** The subject after which the order continues; empty: from the first one on. */
  readonly after: string;
}

/** The next subjects to request, and the subject after which the order continues; empty at its end. */
export interface DueSubjects {
  readonly subjects: readonly Subject[];
  readonly after: string;
}

/** True of a subject that was requested without an answer that tells whether it is known. */
const isUnserved = sql`(${lookups.asked_at} is not null and ${lookups.found} is null)`;

const isDue = sql`(${lookups.again_at} <= clock_timestamp() or (${lookups.seen_lt} > coalesce(${lookups.known_lt}, -1)
  and not ${isUnserved}))`;

function isOf(dataset: string, walk: string): SQL {
  return sql`${lookups.dataset} = ${dataset} and ${lookups.walk} = ${walk}`;
}

/** The next subjects to request: those that became due last, and at least as many in the order of their names. */
export async function readDueSubjects(session: Session, options: DueOptions): Promise<DueSubjects> {
  const { dataset, walk, onlyWatched, unserved, before, except = [], limit, after } = options;
  const { subject, fields, asked_at, again_at } = lookups;
  const watched = onlyWatched ? sql`and ${subject} in (select ${watch.address} from ${watch})` : sql``;
  const select = sql`
    select ${subject} as key, ${fields} from ${lookups} where ${isOf(dataset, walk)} ${watched}
      and ${subject} not in (${texts(except)}) and (${asked_at} is null or ${asked_at} < to_timestamp(${before}::float8))`;
  const newest = await session.rows(
    sql`${select} and ${again_at} <= clock_timestamp() order by ${again_at} desc, ${subject} limit ${Math.floor(limit / 2)}`,
    Due,
  );
  const due = unserved ? sql`(${isDue} or ${isUnserved})` : isDue;
  const inOrder = await session.rows(
    sql`${select} and ${due} and ${subject} > ${after} order by ${subject} limit ${limit}`,
    Due,
  );
  const taken = new Set(newest.map(({ key }) => key));
  const others = inOrder.filter(({ key }) => !taken.has(key)).slice(0, limit - newest.length);
  // A shorter list has reached the end of the order, which starts again.
  const isAtEnd = inOrder.length < limit && newest.length + others.length < limit;
  const last = inOrder.at(-1)?.key;
  return {
    subjects: [...newest, ...others].map((row) => ({ key: row.key, fields: row.fields ?? {} })),
    after: isAtEnd ? '' : (others.at(-1)?.key ?? last ?? ''),
  };
}

/** What a response said about the requested subjects. */
export interface Outcomes {
  readonly walk: string;
  readonly asked: readonly string[];
  readonly found: readonly { readonly key: string; readonly lt: string | undefined }[];
  /** Seconds after which a known subject is requested again. If undefined, only after it moved. */
  readonly refresh: number | undefined;
  readonly unknownFor: number;
}

/** Subjects that the server did not serve, although it serves others. */
export interface Unserved {
  readonly walk: string;
  readonly subjects: readonly string[];
}

/** Postpones subjects, even if they move meanwhile: for a minute, then twice as long each time, at most a day. */
export async function postponeSubjects(
  session: Session,
  dataset: string,
  { walk, subjects }: Unserved,
): Promise<void> {
  const { asked_at, again_at, found } = lookups;
  await session.run(sql`
    update ${lookups} set ${bare(found)} = null, ${bare(asked_at)} = clock_timestamp(),
      ${bare(again_at)} = clock_timestamp() + case when ${isUnserved}
        then least(interval '1 day', greatest(interval '1 minute', 2 * (${again_at} - ${asked_at})))
        else interval '1 minute' end
    where ${isOf(dataset, walk)} and ${lookups.subject} in (${texts(subjects)})`);
}

/**
 * Stores, within the commit, which subjects were found and how far the response goes. If the response is older than
 * what is known to have happened, a replica lagged, and the subject stays due.
 */
export async function rememberOutcomes(
  session: Session,
  dataset: string,
  { walk, asked, found, refresh, unknownFor }: Outcomes,
): Promise<void> {
  const known = found.map(({ key, lt }) => ({ key, lt: lt ?? null }));
  const { seen_lt, known_lt, asked_at, again_at } = lookups;
  await session.run(sql`
    update ${lookups} set
      ${bare(lookups.found)} = f.subject is not null,
      ${bare(known_lt)} = case when f.subject is null then ${seen_lt} else coalesce(f.lt, ${seen_lt}, 0) end,
      ${bare(asked_at)} = clock_timestamp(),
      ${bare(again_at)} = case when f.subject is null then clock_timestamp() + make_interval(secs => ${unknownFor})
        else clock_timestamp() + make_interval(secs => ${refresh ?? null}::float8) end
    from json_array_elements_text(${JSON.stringify(asked)}::json) a (subject)
    left join (
      select j->>'key' as subject, max((j->>'lt')::int8) as lt from json_array_elements(${JSON.stringify(known)}::json) j
      group by 1) f using (subject)
    where ${isOf(dataset, walk)} and ${lookups.subject} = a.subject`);
}

/** Stores subjects that came with the response of another dataset, including new ones. */
export async function rememberPiggybacked(
  session: Session,
  dataset: string,
  outcomes: Outcomes,
): Promise<void> {
  await session.run(sql`
    insert into ${lookups} (${KEY})
    select ${dataset}, ${outcomes.walk}, s.subject
    from (select distinct subject from json_array_elements_text(${JSON.stringify(outcomes.asked)}::json) a (subject)) s
    order by s.subject
    on conflict (${KEY}) do nothing`);
  await rememberOutcomes(session, dataset, outcomes);
}

export interface LookupCounts {
  readonly dataset: string;
  readonly walk: string;
  readonly known: number;
  readonly unknown: number;
  /** Requested, but not served. */
  readonly unserved: number;
  readonly due: number;
}

export async function countLookups(session: Session): Promise<LookupCounts[]> {
  const count = z.coerce.number();
  const { dataset, walk, found } = lookups;
  return session.rows(
    sql`
      select ${dataset}, ${walk}, count(*) filter (where ${found}) as known,
        count(*) filter (where not ${found}) as unknown, count(*) filter (where ${isUnserved}) as unserved, count(*) filter (where ${isDue}) as due
      from ${lookups} group by ${dataset}, ${walk} order by ${dataset}, ${walk}`,
    z.object({
      dataset: z.string(),
      walk: z.string(),
      known: count,
      unknown: count,
      unserved: count,
      due: count,
    }),
  );
}
