import type pg from 'pg';
import { findRows } from '../../../src/read/find-hash.ts';
import { createPartitions } from '../../../src/write/target.ts';
import { SPAN } from '../network.ts';
import { monthsOf, TABLES, type BenchStore } from '../store.ts';

/** Together with the existing two years: ten years of months. */
const COPIES = 4;
const YEARS = 2;
const SAMPLES = 300;

/** Milliseconds of one look-up. */
export interface LookUp {
  readonly p50: number;
  readonly p95: number;
}

export interface LookUps {
  readonly partitions: number;
  /** The query of `why`: which rows of transactions have the hash. */
  readonly why: LookUp;
  /** The query that an analyst types: planned each time, and prepared. */
  readonly typed: LookUp;
  readonly prepared: LookUp;
  /** The first look-up of a new connection, which reads the catalog first. */
  readonly first: number;
}

const QUERY = 'select * from ton.transactions where hash = $1';

/** How long it takes to find a transaction by its hash alone, each time another one. */
export async function lookUp(store: BenchStore): Promise<LookUps> {
  for (let copy = 1; copy <= COPIES; copy += 1) await addYears(store, copy);
  await store.client.query('vacuum analyze ton.transactions');
  const hashes = await someHashes(store.client);
  const columns = [{ schema: 'ton', table: 'transactions', column: 'hash' }];
  const client = await store.connect();
  try {
    const [first = NaN] = await timesOf(hashes.slice(0, 1), (hash) => client.query(QUERY, [hash]));
    return {
      partitions: (COPIES + 1) * YEARS * 12,
      why: summary(await timesOf(hashes, (hash) => findRows(store.database, columns, hash))),
      typed: summary(await timesOf(hashes, (hash) => client.query(QUERY, [hash]))),
      prepared: summary(
        await timesOf(hashes, (hash) => client.query({ name: 'by-hash', text: QUERY, values: [hash] })),
      ),
      first,
    };
  } finally {
    await client.end();
  }
}

async function someHashes(client: pg.Client): Promise<string[]> {
  const { rows } = await client.query<{ hash: string }>(
    `select hash from ton.transactions order by random() limit ${SAMPLES}`,
  );
  return rows.map(({ hash }) => hash);
}

async function timesOf(
  hashes: readonly string[],
  find: (hash: string) => Promise<unknown>,
): Promise<number[]> {
  const times: number[] = [];
  for (const hash of hashes) {
    const start = performance.now();
    await find(hash);
    times.push(performance.now() - start);
  }
  return times;
}

/** The first ones are left out: they fill caches. */
function summary(times: readonly number[]): LookUp {
  const warm = times.slice(SAMPLES / 10).sort((a, b) => a - b);
  const at = (part: number) => warm[Math.floor(warm.length * part)] ?? NaN;
  return { p50: at(0.5), p95: at(0.95) };
}

/** Copies a fifth of the transactions to earlier years, with other hashes. */
async function addYears({ database, client }: BenchStore, copy: number): Promise<void> {
  const years = YEARS * copy;
  const span = { from: earlier(SPAN.from, years), to: earlier(SPAN.to, years) };
  await createPartitions(database, 'month').ensure(TABLES, monthsOf(span));
  const { rows } = await client.query<{ name: string }>(
    `select attname as name from pg_attribute
     where attrelid = 'ton.transactions'::regclass and attnum > 0 and attname not in ('utime', 'hash')`,
  );
  const rest = rows.map(({ name }) => `"${name}"`).join(', ');
  await client.query(
    `insert into ton.transactions (utime, hash, ${rest})
     select utime - interval '${years} years', encode(sha256((hash || ${copy})::bytea), 'base64'), ${rest}
     from ton.transactions where utime >= to_timestamp(${SPAN.from}) and abs(hashtext(hash)) % 5 = 0`,
  );
}

function earlier(time: number, years: number): number {
  const date = new Date(time * 1000);
  return date.setUTCFullYear(date.getUTCFullYear() - years) / 1000;
}
