import { mkdtemp, rm, statfs } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { DAY, formatTime } from '../../../src/range.ts';
import { networkOfDay } from '../queries/one-day.ts';
import { serveNetwork } from '../network.ts';
import { startServer } from '../store.ts';
import { measureSize, settingsOf, type Scale } from './measure-size.ts';
import { addDays } from './more-days.ts';
import { CLI, runApart, type Cost } from './run-apart.ts';

/*
 * `npm run bench -- network`: the cost of commands in a database and a lake of so many transactions, and in
 * those of a fifth of them, and its growth. One day is crawled; all others are derived from it, directly into
 * parts of a lake, which is then imported: rows and coverage are counted, and not assumed.
 *
 *   --transactions 5000000   how many, default a million
 *   --day 100000             of a day; more of them at once cost more memory here, for the simulated network
 *   --leave 15               gigabytes of the disk that must stay free
 */

const { values } = parseArgs({
  args: process.argv.slice(3),
  options: {
    transactions: { type: 'string', default: '1000000' },
    day: { type: 'string', default: '100000' },
    leave: { type: 'string', default: '15' },
  },
});
const [transactions, perDay] = [Number(values.transactions), Number(values.day)];

/** The maximum of bytes on disk for a transaction with its rows: in Postgres, its log and a lake. */
const BYTES = 7000;
/** The minimum of days: the first and the last are needed whole. */
const FEWEST = 3;

const most = Math.max(FEWEST, Math.ceil(transactions / perDay));
const sizes = [...new Set([Math.max(FEWEST, Math.ceil(most / 5)), most])];

await requireRoom(most * perDay * BYTES);
// The newest blocks have no successors yet, which a crawl waits for.
const day = networkOfDay(perDay);
const network = { ...day, duration: day.duration + 1800 };
const api = await serveNetwork(network);
const server = await startServer();
const directory = await mkdtemp(join(tmpdir(), 'toncenter-etl-bench-network-'));
try {
  const lake = join(directory, 'lake');
  const scale = { server, api: api.url, start: network.start, lake };
  await crawlFirstDay(scale);
  const costs: ReadonlyMap<string, Cost>[] = [];
  for (const [at, days] of sizes.entries()) {
    begin(`${days} days`);
    await addDays(lake, sizes[at - 1] ?? 1, days);
    costs.push(await measureSize({ ...scale, days, begin }));
  }
  printTable(costs);
} finally {
  await rm(directory, { recursive: true });
  await server.stop();
  await api.stop();
}

function begin(step: string): void {
  console.error(`${Math.round(performance.now() / 1000)} s: ${step}`);
}

/** @throws Error if the disk does not have so many bytes to spare */
async function requireRoom(bytes: number): Promise<void> {
  const { bavail, bsize } = await statfs(tmpdir());
  const spare = bavail * bsize - Number(values.leave) * 1e9;
  if (bytes > spare)
    throw new Error(
      `it needs about ${Math.round(bytes / 1e9)} GB in ${tmpdir()}, and only ${Math.round(spare / 1e9)} GB may be taken`,
    );
}

async function crawlFirstDay({ server, api, start, lake }: Scale): Promise<void> {
  begin('crawling a day');
  const store = await server.create('day');
  const range = ['--from', formatTime(start), '--to', formatTime(start + DAY)];
  const settings = settingsOf(store, api);
  await runApart(server, CLI, ['backfill', ...range], settings);
  await runApart(server, CLI, ['export', ...range, '--out', lake], settings);
  await store.close();
}

function printTable(costs: readonly ReadonlyMap<string, Cost>[]): void {
  const round = (value: number) => String(Number(value.toPrecision(3)));
  const [small, large] = [costs[0], costs.at(-1)];
  console.log(
    `| | ${sizes.map((days) => `${(days * perDay).toLocaleString('en')} transactions`).join(' | ')} | times |`,
  );
  console.log(`|---|${sizes.map(() => '---|').join('')}---|`);
  for (const [name, cost] of large ?? []) {
    const cells = costs.map((one) => {
      const { seconds = NaN, cpuSeconds = NaN, megabytes = NaN } = one.get(name) ?? {};
      return `${round(seconds)} s, ${round(cpuSeconds)} s of CPU, ${Math.round(megabytes)} MB`;
    });
    const times = cost.cpuSeconds / (small?.get(name)?.cpuSeconds ?? NaN);
    console.log(`| ${name} | ${cells.join(' | ')} | ${round(times)} |`);
  }
}
