import { createPartitions } from '../../src/db/partitions.ts';
import { SPAN } from './network.ts';
import { monthsOf, TABLES, type BenchStore } from './store.ts';

/** With the two years that are there: ten years of months. */
const COPIES = 4;
const YEARS = 2;
const SAMPLES = 400;

export interface LookUp {
  readonly partitions: number;
  readonly p50: number;
  readonly p95: number;
  /** The first look-up of a new connection, which reads the catalog first. */
  readonly first: number;
}

/** Milliseconds to find a transaction by its hash alone, on one connection, each time another one. */
export async function lookUp(store: BenchStore): Promise<LookUp> {
  for (let copy = 1; copy <= COPIES; copy += 1) await addYears(store, copy);
  await store.client.query('vacuum analyze ton.transactions');
  const { rows } = await store.client.query<{ hash: string }>(
    `select hash from ton.transactions order by random() limit ${SAMPLES + 1}`,
  );
  const ms: number[] = [];
  const client = await store.connect();
  for (const { hash } of rows) {
    const start = performance.now();
    const found = await client.query('select * from ton.transactions where hash = $1', [hash]);
    ms.push(performance.now() - start);
    if (found.rowCount !== 1) throw new Error(`${hash} was found ${found.rowCount ?? 0} times`);
  }
  await client.end();
  const [first = NaN, ...warm] = ms;
  warm.sort((a, b) => a - b);
  const at = (part: number) => warm[Math.floor(warm.length * part)] ?? NaN;
  return { partitions: (COPIES + 1) * YEARS * 12, p50: at(0.5), p95: at(0.95), first };
}

/** A fifth of the transactions once more, under other hashes and years earlier. */
async function addYears({ database, client }: BenchStore, copy: number): Promise<void> {
  const back = (time: number) =>
    new Date(time * 1000).setUTCFullYear(new Date(time * 1000).getUTCFullYear() - YEARS * copy) / 1000;
  await createPartitions(database, 'month').ensure(
    TABLES,
    monthsOf({ from: back(SPAN.from), to: back(SPAN.to) }),
  );
  const { rows } = await client.query<{ name: string }>(
    `select attname as name from pg_attribute
     where attrelid = 'ton.transactions'::regclass and attnum > 0 and attname not in ('utime', 'hash')`,
  );
  const rest = rows.map(({ name }) => `"${name}"`).join(', ');
  await client.query(
    `insert into ton.transactions (utime, hash, ${rest})
     select utime - interval '${YEARS * copy} years', encode(sha256((hash || ${copy})::bytea), 'base64'), ${rest}
     from ton.transactions where utime >= to_timestamp(${SPAN.from}) and abs(hashtext(hash)) % 5 = 0`,
  );
}
