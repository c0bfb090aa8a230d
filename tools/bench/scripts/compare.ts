import { formatTable } from '../../../src/commands/table.ts';
import { busyNetworkOf, HELD_BACK, serveNetwork } from '../network.ts';
import { startServer, type BenchServer } from '../store.ts';
import { has, program, PYTHON, run, script, type Range, type Used } from './clients.ts';

/*
 * Compares the program with an afternoon's script, and with dlt's REST source. All read the same transactions of the
 * same source into the same Postgres, each in a separate process, without a limit on requests.
 */

/** How many transactions: a long range, and one of some seven pages. */
const SIZES = [120_000, 6_700] as const;

interface Client {
  readonly name: string;
  /** Runs once for a database, before any client reads into it. */
  readonly before?: (range: Range) => void;
  /** A Python module that the client needs. */
  readonly needs?: string;
  readonly command: (range: Range) => readonly string[];
  readonly counted: string;
}

const CLIENTS: readonly Client[] = [
  {
    name: 'toncenter-etl',
    before: (range) => void run([...program(range), 'migrate']),
    command: (range) => [
      ...program(range),
      ...['backfill', '--only', 'transactions', '--quiet'],
      ...['--from', String(range.from), '--to', String(range.to)],
    ],
    counted: 'ton.transactions',
  },
  { name: 'script', needs: 'psycopg, requests', command: script('plain.py'), counted: 'plain_transactions' },
  { name: 'dlt', needs: 'dlt', command: script('dlt_source.py'), counted: 'dlt_rows.transactions' },
];

/** Prints a table, or why there is none. */
export async function compareSpeed(): Promise<void> {
  if (!has('sys')) {
    console.log(
      `speed: not compared, because ${PYTHON} does not run. PYTHON=venv/bin/python names another one.`,
    );
    return;
  }
  const server = await startServer();
  const rows: string[][] = [];
  try {
    for (const size of SIZES) rows.push(...(await compare(server, size)));
  } finally {
    await server.stop();
  }
  const header = ['client', 'transactions', 'seconds', 'a second', 'CPU us each', 'peak MB', 'of the script'];
  console.log(formatTable(header, rows));
}

async function compare(server: BenchServer, size: number): Promise<string[][]> {
  const options = busyNetworkOf(size);
  const network = await serveNetwork({ ...options, duration: options.duration + HELD_BACK });
  const span = { from: options.start, to: options.start + options.duration };
  const rows: string[][] = [];
  const speeds = new Map<string, number>();
  for (const client of CLIENTS) {
    if (client.needs !== undefined && !has(client.needs)) {
      console.log(`${client.name}: not run, because ${PYTHON} has no ${client.needs}.`);
      continue;
    }
    const store = await server.create(`speed_${size}_${client.name.replaceAll('-', '_')}`, span);
    const range = { api: network.url, database: store.url, ...span };
    client.before?.(range);
    const used = run(client.command(range));
    const { rows: counted } = await store.client.query<{ count: number }>(
      `select count(*)::int as count from ${client.counted}`,
    );
    await store.close();
    const count = counted[0]?.count ?? 0;
    speeds.set(client.name, count / used.seconds);
    rows.push([client.name, String(count), ...figures(used, count)]);
  }
  await network.stop();
  const mark = speeds.get('script');
  return rows.map((row) => {
    const speed = speeds.get(row[0] ?? '') ?? 0;
    return [...row, mark === undefined ? '-' : (speed / mark).toFixed(2)];
  });
}

function figures({ seconds, cpuSeconds, megabytes }: Used, count: number): string[] {
  return [
    seconds.toFixed(1),
    Math.round(count / seconds).toString(),
    Math.round((cpuSeconds / count) * 1e6).toString(),
    Math.round(megabytes).toString(),
  ];
}
