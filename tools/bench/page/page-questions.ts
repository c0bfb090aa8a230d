import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import * as z from 'zod';
import { openEmbedded } from '../../../src/embedded/embedded.ts';
import { packageRoot } from '../../../src/package.ts';
import { questions } from '../../../test/support/questions.ts';
import { DAYS, fillPage } from './fill.ts';
import { SAVED, type Timed } from './saved.ts';

/*
 * `npm run bench -- questions`: how fast each question of docs/analyst/questions.md is answered, unchanged,
 * about a day whose reports are closed, and about the last day, which is open. No query gets a second worker. JIT is
 * on if the server has it: the embedded one has none.
 *
 *   --transactions 1000000   how many, about
 *   --database URL           an empty database, or one that an earlier call filled; default an embedded server
 *   --only TEXT              only questions with this text in their title
 *   --before FILE            the output of an earlier call: its figures are printed, too
 *   --plans                  the plan of each answer is printed, too, with its times
 *   --save                   writes the times into the page's source; then `npm run docs`
 */

const ROUNDS = 3;
/** The settings of most users' servers. */
const DEFAULTS = { jit: 'on', shared_buffers: '128MB', work_mem: '4MB', random_page_cost: '4' };
/** Names on the page, and their replacement if the network does not have them. */
const NAMED: readonly (readonly [literal: RegExp, otherwise: string])[] = [
  [/[A-Za-z0-9+/]{43}=/, 'select trace_id from traces order by transactions desc, trace_id limit 1'],
  [
    /0:2A9A[0-9A-F]{60}/,
    'select nft_address from nft_transfers group by 1 order by count(*) desc, 1 limit 1',
  ],
];

function option(name: string, otherwise: string): string {
  const index = process.argv.indexOf(`--${name}`);
  return index === -1 ? otherwise : (process.argv[index + 1] ?? otherwise);
}

/** Fills a database unless a filled one is given, and asks. */
export async function measureQuestions(): Promise<void> {
  const given = option('database', '');
  if (given !== '') {
    await measure(given);
    return;
  }
  const dataDir = await mkdtemp(join(tmpdir(), 'toncenter-etl-bench-'));
  const server = await openEmbedded({ dataDir, settings: DEFAULTS });
  await measure(server.url).finally(() => server.close());
  await rm(server.dataDir, { recursive: true, force: true });
}

async function measure(url: string): Promise<void> {
  const client = new pg.Client({
    connectionString: url,
    options: '-c search_path=ton,etl,public -c timezone=UTC -c max_parallel_workers_per_gather=0',
  });
  await client.connect();
  const { rows } = await client.query<{ there: boolean }>(
    "select to_regclass('ton.days') is not null as there",
  );
  if (rows[0]?.there !== true) await fillPage(url, Number(option('transactions', '1000000')));
  const { rows: size } = await client.query<Record<string, unknown>>(
    `select count(*)::int as transactions, pg_size_pretty(pg_database_size(current_database())) as size,
       current_setting('jit') as jit, split_part(version(), ' ', 2) as postgres from transactions`,
  );
  console.log(JSON.stringify({ measure: 'questions', ...size[0] }));
  const before = await readBefore(option('before', ''));
  const timed: Record<string, Timed> = {};
  for (const { title, statement } of questions.filter(({ title }) => title.includes(option('only', '')))) {
    const text = await withNames(client, statement);
    const asked = {
      kept: await timeQuestion(client, text),
      open: await timeQuestion(client, onLastDay(text)),
    };
    timed[title] = { kept: asked.kept.ms, open: asked.open.ms };
    console.log(JSON.stringify({ question: title, ...asked, ...before(title) }));
    if (process.argv.includes('--plans'))
      for (const asks of [text, onLastDay(text)]) await printPlan(client, asks);
  }
  await client.end();
  if (process.argv.includes('--save'))
    await writeFile(join(packageRoot, SAVED), `${JSON.stringify(timed, undefined, 2)}\n`);
}

async function withNames(client: pg.Client, statement: string): Promise<string> {
  let text = statement;
  for (const [literal, otherwise] of NAMED) {
    if (!literal.test(text)) continue;
    const { rows } = await client.query<Record<string, string>>(otherwise);
    text = text.replace(literal, Object.values(rows[0] ?? {})[0] ?? '');
  }
  return text;
}

function onLastDay(statement: string): string {
  const day = (date: number) => `2026-01-${String(date).padStart(2, '0')}`;
  return statement.replaceAll(/2026-01-0([12])/g, (_, date: string) => day(Number(date) + DAYS - 1));
}

interface Asked {
  /** Milliseconds of CPU that Postgres needed for the median answer, planning included; its waits are left out. */
  readonly ms: number;
  /** Milliseconds of real time. */
  readonly wall: number;
  readonly cost: number;
  readonly rows: number;
}

const Explained = z.tuple([
  z.object({ 'QUERY PLAN': z.tuple([z.looseObject({ Plan: z.looseObject({ 'Total Cost': z.number() }) })]) }),
]);

/** Asks three times, and returns the median, with the planner's estimate. */
export async function timeQuestion(client: pg.Client, text: string): Promise<Asked> {
  const explained = Explained.parse((await client.query(`explain (format json) ${text}`)).rows);
  const answers: { ms: number; wall: number; rows: number }[] = [];
  for (let round = 0; round < ROUNDS; round += 1) {
    const [cpu, start] = [await cpuOf(client), performance.now()];
    const { rowCount } = await client.query(text);
    const wall = performance.now() - start;
    answers.push({ ms: (await cpuOf(client)) - cpu, wall, rows: rowCount ?? 0 });
  }
  const [, median = { ms: NaN, wall: NaN, rows: 0 }] = answers.sort((a, b) => a.ms - b.ms);
  const rounded = { ms: Number(median.ms.toPrecision(2)), wall: Math.round(median.wall) };
  return { ...median, ...rounded, cost: Math.round(explained[0]['QUERY PLAN'][0].Plan['Total Cost']) };
}

async function printPlan(client: pg.Client, text: string): Promise<void> {
  const { rows } = await client.query<Record<string, string>>(`explain (analyze, buffers) ${text}`);
  console.log(rows.map((row) => row['QUERY PLAN']).join('\n'));
}

/** Milliseconds of CPU of the session's process so far; real time if the system does not report CPU. */
async function cpuOf(client: pg.Client): Promise<number> {
  const { rows } = await client.query<{ pid: number }>('select pg_backend_pid() as pid');
  const path = `/proc/${String(rows[0]?.pid)}/schedstat`;
  const stat = await readFile(path, 'utf8').catch(() => undefined);
  return stat === undefined ? performance.now() : Number(stat.split(' ')[0]) / 1e6;
}

const Line = z.looseObject({ question: z.string(), kept: z.unknown(), open: z.unknown() });

async function readBefore(path: string): Promise<(title: string) => object> {
  if (path === '') return () => ({});
  const lines = (await readFile(path, 'utf8')).split('\n').filter((line) => line.startsWith('{"question"'));
  const before = new Map(
    lines.map((line) => Line.parse(JSON.parse(line))).map((line) => [line.question, line]),
  );
  return (title) => ({ before: { kept: before.get(title)?.kept, open: before.get(title)?.open } });
}
