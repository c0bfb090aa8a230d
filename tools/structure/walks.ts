import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import type { Readable } from 'node:stream';
import { setTimeout } from 'node:timers/promises';
import ts from 'typescript';
import type { Measure } from './measures.ts';
import type { Tree } from './tree.ts';

const FROM = '2026-01-01';
const LOSE_ROW = 'delete from ton.transactions where lt = (select max(lt) from ton.transactions)';
const RECORDER = 'tools/structure/record-walk.ts';

/**
 * Counts the files that one page of transactions passes, from its response to the commit after its COPY. Counts those
 * that `sync` passes, from the command to its first commit, and those that a repair passes and a backfill does not. It
 * runs the program, unbundled, on a simulated network and the database of `environment`.
 */
export async function measureWalks(
  root: string,
  { sources }: Tree,
  environment: Readonly<Record<string, string>>,
): Promise<Measure[]> {
  const directory = mkdtempSync(join(tmpdir(), 'toncenter-etl-walks-'));
  try {
    const files = sources.map(({ path }) => path).filter((path) => /^(src|jobs)\/.*(?<!\.d)\.ts$/.test(path));
    for (const path of [...files, RECORDER]) transpile(root, directory, path);
    for (const name of ['node_modules', 'package.json', 'migrations', 'web'])
      symlinkSync(join(root, name), join(directory, name));
    return await walk(directory, environment);
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

function transpile(root: string, directory: string, path: string): void {
  const { outputText } = ts.transpileModule(readFileSync(join(root, path), 'utf8'), {
    fileName: path,
    compilerOptions: {
      target: ts.ScriptTarget.ES2023,
      module: ts.ModuleKind.ESNext,
      verbatimModuleSyntax: true,
      rewriteRelativeImportExtensions: true,
    },
  });
  const to = join(directory, path.replace(/\.ts$/, '.js'));
  mkdirSync(dirname(to), { recursive: true });
  writeFileSync(to, outputText);
}

async function walk(directory: string, environment: Readonly<Record<string, string>>): Promise<Measure[]> {
  const program = join(directory, 'src/cli.js');
  const simulator = spawn(process.execPath, [program, 'simulate', '--from', FROM], { env: variables() });
  try {
    const url = await addressIn(simulator.stdout);
    const settings = {
      ...environment,
      TONCENTER_NETWORK: url,
      TONCENTER_RPS: '50',
      ETL_SINCE: FROM,
      ETL_DATASETS: 'transactions',
    };
    const run = (args: readonly string[], path = '') =>
      record(directory, { args: [program, ...args], settings, path });
    const command = (...args: string[]) => runToEnd(directory, [program, ...args], settings);
    const range = (minute: number) => {
      const at = `${FROM}T00:${minute}`;
      return ['--from', `${at}:00Z`, '--to', `${at}:10Z`, '--only', 'transactions'];
    };
    // What else runs meanwhile, such as a look for the next lease, differs from page to page.
    const pages = [];
    for (const minute of [10, 20, 30])
      pages.push(await run(['backfill', ...range(minute)], '/api/v3/transactions'));
    const backfills = [await run(['backfill', ...range(40)]), await run(['backfill', ...range(45)])];
    // A row is lost, so that there is something to repair.
    await command('backfill', ...range(50));
    await command('sql', '--write', LOSE_ROW);
    const repair = await run(['verify', ...range(50), '--deep', '100%', '--repair']);
    if (!repair.called.includes('src/verify/repair.ts')) throw new Error('Nothing was repaired');
    const sync = await run(['sync']);
    return [
      counted(
        'files a page passes, response to COPY',
        pages.map(({ called, stack }) => [...new Set([...called, ...stack])]).reduce(common),
      ),
      counted(
        'files that only verify --deep --repair passes',
        repair.called.filter((file) => !backfills.some(({ called }) => called.includes(file))),
      ),
      counted('files from sync to its first commit', sync.stack),
    ];
  } finally {
    simulator.kill();
  }
}

/** The first address that a program prints; its later output is dropped. */
function addressIn(output: Readable): Promise<string> {
  return new Promise((resolve, reject) => {
    let printed = '';
    output.on('data', (chunk) => {
      printed += String(chunk);
      const [url] = /http:\/\/[\d.:]+(?=\s)/.exec(printed) ?? [];
      if (url !== undefined) resolve(url);
    });
    output.once('end', () => reject(new Error(`The simulator named no address: ${printed}`)));
  });
}

const common = (one: readonly string[], other: readonly string[]) =>
  one.filter((file) => other.includes(file));

function counted(name: string, names: readonly string[]): Measure {
  if (names.length === 0) throw new Error(`Nothing was recorded of the ${name}`);
  return { name, value: names.length, names };
}

interface Run {
  readonly args: readonly string[];
  readonly settings: Readonly<Record<string, string>>;
  /** The path of the request with whose response the walk begins; if empty, it begins with the process. */
  readonly path: string;
}

/** The file that `record-walk.ts` writes. */
interface Walk {
  readonly called: readonly string[];
  readonly stack: readonly string[];
}

/** Runs a command until its walk is recorded. */
async function record(directory: string, { args, settings, path }: Run): Promise<Walk> {
  const output = join(directory, 'walk.json');
  rmSync(output, { force: true });
  const recorder = join(directory, RECORDER.replace(/\.ts$/, '.js'));
  const recording = { ...settings, WALK_OUTPUT: output, WALK_PATH: path };
  const child = start(directory, ['--import', recorder, ...args], recording);
  while (!existsSync(output) && child.process.exitCode === null) await setTimeout(100);
  child.process.kill('SIGTERM');
  const { printed } = await child.ended;
  if (!existsSync(output)) throw new Error(`\`${args[1] ?? ''}\` ended before its commit: ${printed}`);
  return JSON.parse(readFileSync(output, 'utf8')) as Walk;
}

async function runToEnd(
  directory: string,
  args: readonly string[],
  settings: Run['settings'],
): Promise<void> {
  const { code, printed } = await start(directory, args, settings).ended;
  if (code !== 0) throw new Error(`\`${args.slice(1).join(' ')}\` ended with ${String(code)}: ${printed}`);
}

function start(directory: string, args: readonly string[], settings: Run['settings']) {
  const env = { ...variables(), ETL_DATA_DIR: join(directory, 'data'), ETL_LISTEN: 'off', ...settings };
  const child = execFile(process.execPath, args, { env, cwd: directory });
  let printed = '';
  for (const stream of [child.stdout, child.stderr])
    stream?.on('data', (chunk) => (printed += String(chunk)));
  const ended = once(child, 'exit').then(([code]) => ({ code: code as number | null, printed }));
  return { process: child, ended };
}

function variables(): Record<string, string> {
  return { PATH: process.env['PATH'] ?? '', HOME: process.env['HOME'] ?? '' };
}
