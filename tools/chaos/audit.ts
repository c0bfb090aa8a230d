import type pg from 'pg';
import { actionTypes } from '../../jobs/actions.ts';
import { parseRangeText, type Range } from '../../src/range.ts';
import type { Truth } from '../../test/support/simulator/truth.ts';
import { otherOf } from '../../src/simulator/network/ledger/chain-ledger.ts';
import { BIG } from './harm/spoil.ts';

/**
 * Records in the database: every range that was ever taken out of coverage, or that a second reading did not
 * confirm, so that another one has to.
 */
export async function installAudit(client: pg.Client, commitMs: number): Promise<void> {
  await client.query(`
    create schema chaos;
    create table chaos.weather (disk_full boolean not null);
    insert into chaos.weather values (false);
    create table chaos.subtracted (dataset text, scope text, pass smallint, span int8multirange);
    create function chaos.keep_subtracted() returns trigger language plpgsql as $$ begin
      if not new.covered @> old.covered then
        insert into chaos.subtracted values (old.dataset, old.scope, old.pass, old.covered - new.covered);
      end if;
      return null;
    end $$;
    create trigger keep_subtracted after update on etl.coverage for each row execute function chaos.keep_subtracted();
    create function chaos.keep_changed() returns trigger language plpgsql as $$ begin
      insert into chaos.subtracted values (new.dataset, new.scope, new.pass, int8multirange(new.span));
      return null;
    end $$;
    create trigger keep_changed after insert or update on etl.refused for each row when (new.reason = 'changed')
      execute function chaos.keep_changed();
    create function chaos.bad_weather() returns trigger language plpgsql as $$ begin
      perform pg_sleep(${commitMs / 1000});
      if (select disk_full from chaos.weather) then
        raise exception 'could not extend file: No space left on device' using errcode = 'disk_full';
      end if;
      return null;
    end $$;
    create constraint trigger bad_weather after insert on etl.pages deferrable initially deferred
      for each row execute function chaos.bad_weather()`);
}

/** The identifier of a stored row, in the form of the truth. */
const KEYS: Readonly<Record<string, string>> = {
  blocks: `workchain || ':' || shard || ':' || seqno`,
  transactions: 'hash',
  traces: 'trace_id',
  jetton_transfers: 'transaction_hash',
  actions: `action_id || ' ' || type`,
};

type Keyed = ReadonlyMap<string, number>;

const NOTHING: Keyed = new Map();

/**
 * Keys and seconds of all rows that the network has in a range, by dataset. `look`: the form in which a
 * quarantined record shows the key.
 */
export function truthOf(truth: Truth, range: Range): Readonly<Record<string, Keyed>> {
  const keyed = <T>(rows: Iterable<T>, pair: (row: T) => readonly [string, number]) =>
    new Map([...rows].map(pair));
  return {
    blocks: keyed(truth.blocks(range), (row) => [
      `${row.workchain}:${row.shard}:${row.seqno}`,
      Number(row.gen_utime),
    ]),
    transactions: keyed(truth.transactions(range), ({ hash, now }) => [hash, now]),
    traces: keyed(truth.traces(range), ({ trace_id, end_utime }) => [trace_id, end_utime]),
    jetton_transfers: keyed(truth.jettonTransfers(range), (row) => [
      row.transaction_hash,
      row.transaction_now,
    ]),
    actions: keyed(truth.actions(range, actionTypes), (row) => [
      `${row.action_id} ${row.type}`,
      row.trace_end_utime,
    ]),
  };
}

interface Stored {
  readonly dataset: string;
  readonly covered: string;
  readonly keys: string[];
}

export interface Comparison {
  /** Sentences about rows that are lost, invented or covered but missing. */
  readonly problems: readonly string[];
  readonly rows: number;
}

interface CompareOptions {
  readonly datasets: readonly string[];
  /** Rows may be as they were before their blocks were reorganized: no process has requested them since. */
  readonly mayBeEarlier?: boolean;
}

/**
 * Compares coverage with the truth: every row of a covered second is stored or in quarantine, and no other
 * row is stored there.
 */
export async function compareCovered(
  client: pg.Client,
  truth: Readonly<Record<string, Keyed>>,
  { datasets, mayBeEarlier = false }: CompareOptions,
): Promise<Comparison> {
  const problems: string[] = [];
  let rows = 0;
  for (const dataset of datasets) {
    const { covered, keys: asStored } = await readCovered(client, dataset);
    const known = truth[dataset] ?? NOTHING;
    const keys = mayBeEarlier ? asStored.map((key) => laterOf(key, known)) : asStored;
    const ranges = parseRangeText(covered);
    const inside = (second: number) => ranges.some(({ from, to }) => second >= from && second < to);
    const stored = new Set(keys);
    const expected = [...known].filter(([, second]) => inside(second));
    rows += expected.length;
    const missing = expected.filter(([key]) => !stored.has(key));
    const wanted = new Set(expected.map(([key]) => key));
    const quarantine = await readQuarantine(client, dataset);
    const lost = missing.filter(
      ([key]) => !namesOf(key, mayBeEarlier).some((name) => isQuarantined(dataset, name, quarantine)),
    );
    problems.push(
      ...sentenceOf(
        `${dataset}: # rows lost in covered seconds`,
        lost.map(([key, second]) => `${key} of second ${second}`),
      ),
    );
    const invented = keys.filter((key) => !wanted.has(key));
    problems.push(...sentenceOf(`${dataset}: # rows that the network does not have`, invented));
  }
  return { problems, rows };
}

/** The identifier of a row, and its identifier before its block was reorganized. */
function namesOf(key: string, mayBeEarlier: boolean): readonly string[] {
  return mayBeEarlier ? [key, otherOf(key)] : [key];
}

/** Says how many there are, and names one; empty if there are none. */
function sentenceOf(text: string, keys: readonly string[]): string[] {
  const [example] = keys;
  return example === undefined ? [] : [`${text.replace('#', String(keys.length))}, such as ${example}`];
}

/** The current key in the network, if this one is that of a row before its block was reorganized. */
function laterOf(key: string, known: Keyed): string {
  return !known.has(key) && known.has(otherOf(key)) ? otherOf(key) : key;
}

async function readCovered(client: pg.Client, dataset: string): Promise<Stored> {
  const { rows } = await client.query<Stored>(
    `with c as (select coalesce((select covered from etl.coverage where dataset = $1 and scope = '' and pass = 0), '{}') as covered)
     select $1 as dataset, covered::text, array(select ${KEYS[dataset] ?? ''} from ton.${dataset}
       where covered @> extract(epoch from utime)::int8) as keys from c`,
    [dataset],
  );
  return rows[0] ?? { dataset, covered: '{}', keys: [] };
}

async function readQuarantine(client: pg.Client, dataset: string): Promise<readonly string[]> {
  const { rows } = await client.query<{ raw: string }>('select raw from etl.quarantine where dataset = $1', [
    dataset,
  ]);
  return rows.map(({ raw }) => raw);
}

function isQuarantined(dataset: string, key: string, raws: readonly string[]): boolean {
  if (dataset === 'blocks') {
    const [workchain, shard, seqno] = key.split(':');
    const own = `"workchain":${workchain ?? ''},"shard":"${shard ?? ''}","seqno":${seqno ?? ''}`;
    return raws.some((raw) => raw.includes(own));
  }
  const [id = ''] = key.split(' ');
  return raws.some((raw) => raw.includes(`"${id}"`));
}

/** Seconds that two pages completed although they were not taken out of coverage in between. */
export async function findDoubled(client: pg.Client): Promise<string[]> {
  const { rows } = await client.query<{ dataset: string; scope: string; pass: number; span: string }>(`
    with doubled as (
      select a.dataset, a.scope, a.pass, range_agg(a.completed * b.completed) as span
      from etl.pages a join etl.pages b using (dataset, scope, pass)
      where a.id < b.id and a.completed && b.completed group by 1, 2, 3)
    select d.dataset, d.scope, d.pass, (d.span - coalesce(s.span, '{}'))::text as span
    from doubled d
    left join (select dataset, scope, pass, range_agg(part) as span
               from chaos.subtracted, unnest(span) as part group by 1, 2, 3) s using (dataset, scope, pass)
    where not isempty(d.span - coalesce(s.span, '{}'))`);
  return rows.map(
    ({ dataset, pass, span }) => `${dataset}: seconds ${span} were completed by two pages of pass ${pass}`,
  );
}

/** Unknown members are kept to the last digit. */
export async function findRounded(client: pg.Client): Promise<string[]> {
  const { rows } = await client.query<{ value: string }>(`
    select extra->>'chaos_big' as value from ton.transactions where extra ? 'chaos_big' and extra->>'chaos_big' <> '${BIG}'
    union all
    select extra->>'chaos_big' from ton.blocks where extra ? 'chaos_big' and extra->>'chaos_big' <> '${BIG}'`);
  return rows.length === 0
    ? []
    : [`${rows.length} numbers beyond 2^53 were changed, such as ${rows[0]?.value ?? ''}`];
}
