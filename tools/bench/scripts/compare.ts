import { randomUUID } from 'node:crypto';
import pg from 'pg';
import * as z from 'zod';
import { formatTable } from '../../../src/commands/table.ts';
import { busyNetworkOf, HELD_BACK, serveNetwork } from '../network.ts';
import { startServer, type BenchServer } from '../store.ts';
import { has, program, PYTHON, run, script, type Range, type Used } from './clients.ts';

/*
 * Compares the program with an afternoon's script, with dlt's REST source, and with other builds of the program. All
 * read the same transactions of the same source into the same Postgres, each in a separate process, without a limit on
 * requests. They take turns, and the median of the rounds counts.
 */

/** How many transactions: a long range, and one of some seven pages. */
export const SIZES = ['120000', '6700'];

interface Client {
  readonly name: string;
  /** Runs once for a database, before the client reads into it. */
  readonly before?: (range: Range) => void;
  /** A Python module that the client needs. */
  readonly needs?: string;
  readonly command: (range: Range) => readonly string[];
  readonly counted: string;
}

/** `directory`: where the program was built. */
const builtIn = (name: string, directory: string): Client => ({
  name,
  before: (range) => void run([...program(range, directory), 'migrate']),
  command: (range) => [
    ...program(range, directory),
    ...['backfill', '--only', 'transactions', '--quiet'],
    ...['--from', String(range.from), '--to', String(range.to)],
  ],
  counted: 'ton.transactions',
});

const SCRIPTS: readonly Client[] = [
  { name: 'script', needs: 'psycopg, requests', command: script('plain.py'), counted: 'plain_transactions' },
  { name: 'dlt', needs: 'dlt', command: script('dlt_source.py'), counted: 'dlt_rows.transactions' },
];

interface CompareOptions {
  /** Directories in which other versions of the program were built. */
  readonly against: readonly string[];
  readonly rounds: number;
  /** Numbers of transactions. */
  readonly sizes: readonly number[];
}

/** Prints a table, or why there is none. */
export async function compareSpeed({ against, rounds, sizes }: CompareOptions): Promise<void> {
  if (!has('sys')) {
    console.log(
      `speed: not compared, because ${PYTHON} does not run. PYTHON=venv/bin/python names another one.`,
    );
    return;
  }
  const clients = [
    builtIn('toncenter-etl', process.cwd()),
    ...against.map((directory) => builtIn(directory, directory)),
    ...SCRIPTS.filter(isRunnable),
  ];
  const server = await startServer();
  const rows: string[][] = [];
  try {
    for (const size of sizes) rows.push(...(await compare(server, clients, { size, rounds })));
  } finally {
    await server.stop();
  }
  const header = [
    'client',
    'transactions',
    'seconds',
    'a second',
    'CPU us each',
    'Postgres',
    'peak MB',
    'of the script',
  ];
  console.log(formatTable(header, rows));
}

function isRunnable({ name, needs = 'sys' }: Client): boolean {
  const isFound = has(needs);
  if (!isFound) console.log(`${name}: not run, because ${PYTHON} has no ${needs}.`);
  return isFound;
}

/** One run of a client. `count`: transactions. */
interface Measured extends Used {
  readonly count: number;
  readonly postgresSeconds: number;
}

/** The clients take turns, in the other order in every second round. */
async function compare(
  server: BenchServer,
  clients: readonly Client[],
  { size, rounds }: { readonly size: number; readonly rounds: number },
): Promise<string[][]> {
  const options = busyNetworkOf(size);
  const network = await serveNetwork({ ...options, duration: options.duration + HELD_BACK });
  const span = { from: options.start, to: options.start + options.duration };
  const runs = new Map<Client, Measured[]>(clients.map((client) => [client, []]));
  for (let round = 0; round < rounds; round += 1)
    for (const client of round % 2 === 0 ? clients : clients.toReversed())
      runs.get(client)?.push(await measure(server, client, { api: network.url, ...span }));
  await network.stop();
  const medians = [...runs].map(([{ name }, measured]) => ({ name, ...medianOf(measured) }));
  const mark = medians.find(({ name }) => name === 'script');
  return medians.map(({ name, count, ...used }) => {
    const speed = count / used.seconds;
    const ofMark = mark === undefined ? '-' : ((speed * mark.seconds) / mark.count).toFixed(2);
    return [name, String(count), ...figures(used, count), ofMark];
  });
}

const Count = z.object({ count: z.number() });

async function measure(
  server: BenchServer,
  client: Client,
  source: Omit<Range, 'database'>,
): Promise<Measured> {
  const name = `speed_${randomUUID().replaceAll('-', '')}`;
  const range = { ...source, database: await server.createEmpty(name) };
  client.before?.(range);
  const before = await server.cpuSeconds();
  const used = run(client.command(range));
  const postgresSeconds = (await server.cpuSeconds()) - before;
  const connection = new pg.Client({ connectionString: range.database });
  await connection.connect();
  const { rows } = await connection.query(`select count(*)::int as count from ${client.counted}`);
  await connection.end();
  // What one run leaves to be written must not cost the next one.
  await server.remove(range.database);
  return { ...used, postgresSeconds, ...Count.parse(rows[0]) };
}

function medianOf(measured: readonly Measured[]): Measured {
  const sorted = measured.toSorted((a, b) => a.seconds - b.seconds);
  const middle = sorted[Math.floor(sorted.length / 2)];
  if (middle === undefined) throw new TypeError('no round was run');
  return middle;
}

function figures(
  { seconds, cpuSeconds, postgresSeconds, megabytes }: Omit<Measured, 'count'>,
  count: number,
): string[] {
  const each = (value: number) => Math.round((value / count) * 1e6).toString();
  return [
    seconds.toFixed(1),
    Math.round(count / seconds).toString(),
    each(cpuSeconds),
    each(postgresSeconds),
    Math.round(megabytes).toString(),
  ];
}
