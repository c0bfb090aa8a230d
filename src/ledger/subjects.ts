import { sql, type SQL } from 'drizzle-orm';
import * as z from 'zod';
import type { SeenIn, Subject, Subjects } from '../dataset/collection.ts';
import type { Range } from '../range.ts';
import { type Session, type Database, writeTransaction, readClock } from '../postgres/database.ts';
import { bare, excluded, setExcluded, texts, during, insertInto } from '../postgres/sql.ts';
import { lookups } from '../tables/etl/cursors.ts';
import { pages } from '../tables/etl/pages.ts';
import { watch, labels } from '../tables/etl/watch-list.ts';
import { csvLine } from '../csv.ts';

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

/** True of a subject that was requested without an answer that tells whether it is known. */
const isUnserved = sql`(${lookups.asked_at} is not null and ${lookups.found} is null)`;

const isDue = sql`(${lookups.again_at} <= clock_timestamp() or (${lookups.seen_lt} > coalesce(${lookups.known_lt}, -1)
  and not ${isUnserved}))`;

function isOf(dataset: string, walk: string): SQL {
  return sql`${lookups.dataset} = ${dataset} and ${lookups.walk} = ${walk}`;
}

/**
 * The next subjects to request: those that became due last, and at least as many in the order of their names. `after`
 * is the subject after which the order continues, empty at its end.
 */
export async function readDueSubjects(session: Session, options: DueOptions) {
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
    subjects: [...newest, ...others].map((row): Subject => ({ key: row.key, fields: row.fields ?? {} })),
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

const count = z.coerce.number();
/** `unserved`: requested, but not served. */
const Counts = z.object({
  ...{ dataset: z.string(), walk: z.string() },
  ...{ known: count, unknown: count, unserved: count, due: count },
});

export type LookupCounts = z.infer<typeof Counts>;

export async function countLookups(session: Session): Promise<LookupCounts[]> {
  const { dataset, walk, found } = lookups;
  return session.rows(
    sql`
      select ${dataset}, ${walk}, count(*) filter (where ${found}) as known,
        count(*) filter (where not ${found}) as unknown, count(*) filter (where ${isUnserved}) as unserved, count(*) filter (where ${isDue}) as due
      from ${lookups} group by ${dataset}, ${walk} order by ${dataset}, ${walk}`,
    Counts,
  );
}

const Watched = z.object({ address: z.string(), note: z.string(), addedAt: z.coerce.number() });

/** A watched account; `addedAt` in unix seconds. */
export type Watched = z.infer<typeof Watched>;

/** Puts an account (raw form) on the watch list; if it is there already, its note is replaced. */
export async function addWatch(session: Session, address: string, note: string): Promise<void> {
  await session.run(sql`
    ${insertInto(watch, { address, note })}
    on conflict (${bare(watch.address)}) do update set ${setExcluded(watch.note)}`);
}

/** Takes an account off the list; false if it was not on it. Its rows stay. */
export async function removeWatch(session: Session, address: string): Promise<boolean> {
  return (await session.run(sql`delete from ${watch} where ${watch.address} = ${address}`)) > 0;
}

export async function readWatched(session: Session): Promise<Watched[]> {
  return session.rows(
    sql`select ${watch.address}, ${watch.note}, extract(epoch from ${watch.added_at})::int8 as "addedAt" from ${watch}
        order by ${watch.added_at}, ${watch.address}`,
    Watched,
  );
}

const Replaced = z.object({ address: z.string(), was: z.string(), file: z.string(), label: z.string() });

/** A label of another file that an import replaced. */
type Replaced = z.infer<typeof Replaced>;

/** A name for an account (raw form), as in the imported file. */
export interface Label {
  readonly address: string;
  readonly label: string;
  readonly category: string | null;
  readonly organization: string | null;
}

/** Yields many lines at once, so that few chunks are sent. */
function* linesOf(rows: readonly Label[]): Generator<string> {
  const LINES = 10_000;
  for (let from = 0; from < rows.length; from += LINES)
    yield rows
      .slice(from, from + LINES)
      .map(({ address, label, category, organization }) => csvLine([address, label, category, organization]))
      .join('');
}

/**
 * Stores labels in place of those from an earlier import of the same file. An account that another file named gets the
 * new label; of two rows for one account, the later one counts. Returns how many accounts have one now, and the labels of
 * other files that it replaced by other words.
 */
export function storeLabels(
  database: Database,
  file: string,
  batches: AsyncIterable<readonly Label[]>,
): Promise<{ stored: number; replaced: Replaced[] }> {
  const { address, label, category, organization, imported_from } = labels;
  const columns = bare(address, label, category, organization);
  return writeTransaction(database, async (session) => {
    await session.run(sql`delete from ${labels} where ${imported_from} = ${file}`);
    await session.run(
      sql`create temp table given_labels (line bigint generated always as identity, address text, label text, category text, organization text) on commit drop`,
    );
    for await (const batch of batches)
      await session.copyIn(sql`copy given_labels (${columns}) from stdin (format csv)`, linesOf(batch));
    await session.run(sql`
      delete from given_labels g using given_labels l where l.address = g.address and l.line > g.line`);
    const replaced = await session.rows(
      sql`select l.address, l.label as was, l.imported_from as file, g.label
          from ${labels} l join given_labels g on g.address = l.address and g.label <> l.label order by g.line`,
      Replaced,
    );
    const stored = await session.run(sql`
      insert into ${labels} (${columns}, ${bare(imported_from)})
      select ${columns}, ${file}::text from given_labels
      on conflict (${bare(address)}) do update set ${setExcluded(label, category, organization, imported_from)}, imported_at = now()`);
    return { stored, replaced };
  });
}
