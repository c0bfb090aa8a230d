import { spawn, type ChildProcess } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { chmod, mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { packageRoot } from '../../src/package.ts';
import { installed, openDumpable, type DumpableServer } from '../support/database/dumpable.ts';
import { query } from '../support/database/query.ts';
import { freePort } from '../support/free-port.ts';
import { compile } from '../support/program/compile.ts';
import { startSimulator, type Simulator } from '../support/simulator/simulator.ts';

/*
 * Every block of commands or SQL of every page, in order, as a reader types them: in one directory, on one
 * database with twenty minutes of a simulated network. Times, hosts, passwords and ports are those of the
 * test. Blocks that are left out are printed, with the reason.
 */

const pages = readdirSync(join(packageRoot, 'docs'), { recursive: true, encoding: 'utf8' })
  .filter((name) => name.endsWith('.md'))
  .sort();

interface Block {
  readonly line: number;
  readonly kind: 'commands' | 'sql' | 'left out';
  /** Commands or statements; for a block that is left out, the reason. */
  readonly parts: readonly string[];
}

/** Programs that the docs let a reader run, after assignments, the time of cron and `cd … &&`. */
const COMMAND =
  /^(?:[\d*/,-]+ +[\d*/,-]+ +\S+ +\S+ +\S+ +)?(?:\w+=(?:'[^']*'|"[^"]*"|\S+) +)*(?:npx|npm|node|psql|duckdb|cd|export|pg_\w+|createdb|flock|curl|docker|cp|python3|superset|dbt|toncenter-etl) /;
const ASSIGNMENT = /^[A-Z]+=\S*$/;
const SQL = /^(?:select|with|set) /i;
/** Languages that no shell runs. */
const ELSEWHERE: Readonly<Record<string, string>> = {
  diff: 'a change of the tree',
  mermaid: 'a diagram',
  ts: 'code of TypeScript: `npm pack` and tools/package/try-library.js show the library',
  python: 'code of Python: test/long/python.long.ts runs it',
  yaml: 'a part of a file for another program',
};
/** Pages whose statements another test runs. */
const OWN_TESTS: Readonly<Record<string, string>> = {
  'analyst/questions.md': 'a question: test/commands/questions.test.ts runs it',
};

/** Complete lines: quotes and backslashes continue a line. */
function joined(text: string): string[] {
  const lines: string[] = [];
  let open = '';
  for (const line of text.replaceAll(/\\\n\s*/g, ' ').split('\n')) {
    open = open === '' ? line : `${open}\n${line}`;
    if ((open.replaceAll(/'[^']*'/g, '').match(/"/g) ?? []).length % 2 === 1) continue;
    if (open.trim() !== '' && !open.startsWith('#')) lines.push(open);
    open = '';
  }
  return [...lines, ...(open === '' ? [] : [open])];
}

function classify(page: string, language: string, text: string): Pick<Block, 'kind' | 'parts'> {
  const elsewhere = ELSEWHERE[language] ?? OWN_TESTS[page];
  if (elsewhere !== undefined) return { kind: 'left out', parts: [elsewhere] };
  const bare = text.replaceAll(/--[^'\n]*$/gm, '').trim();
  if (language === 'sql' || SQL.test(text))
    return { kind: 'sql', parts: bare.split(/;\s*(?:\n|$)/).filter((each) => each.trim() !== '') };
  const lines = joined(text);
  const isCommand = (line: string) => COMMAND.test(`${line} `);
  if (lines.some(isCommand)) {
    const other = lines.find((line) => !isCommand(line) && !ASSIGNMENT.test(line));
    if (other !== undefined)
      throw new Error(`${page}: a block of commands has a line that is none: ${other}`);
    return { kind: 'commands', parts: lines.filter((line) => !ASSIGNMENT.test(line)) };
  }
  if (/toncenter-etl [a-z]|\bnpx /.test(text)) throw new Error(`${page}: no block of commands:\n${text}`);
  return { kind: 'left out', parts: ['what a program prints or a file holds'] };
}

function blocksOf(page: string): Block[] {
  const text = readFileSync(join(packageRoot, 'docs', page), 'utf8');
  // Blocks in a list are indented.
  return [...text.matchAll(/^( *)```(\w*)\n([^]*?)^\1```$/gm)].map((match) => {
    const [, indent = '', language = '', body = ''] = match;
    const line = text.slice(0, match.index).split('\n').length;
    return { line, ...classify(page, language, body.replaceAll(new RegExp(`^${indent}`, 'gm'), '')) };
  });
}

const SECONDS = 2 * 3600;
/** The covered range, and what replaces the times in the docs. */
const now = Math.floor(Date.now() / 1000);
const FROM = now - SECONDS + 600;
const TO = FROM + 1200;
const RANGE = `--from ${iso(FROM)} --to ${iso(TO)}`;

function iso(time: number): string {
  return new Date(time * 1000).toISOString().replace('.000', '');
}

const children = new Set<ChildProcess>();
afterEach(() => {
  for (const { pid } of children) if (pid !== undefined) process.kill(-pid, 'SIGKILL');
});

interface Ended {
  readonly code: number | null;
  readonly output: string;
}

/** Runs a line in a shell. A program that reads stdin gets a question, and the word that ends psql. */
function shell(line: string, cwd: string, env: Record<string, string>) {
  const child = spawn('bash', ['-c', line], { cwd, env, detached: true, stdio: ['pipe', 'pipe', 'pipe'] });
  children.add(child);
  let output = '';
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (chunk: Buffer) => {
      output += chunk.toString();
    });
  child.stdin.on('error', () => undefined);
  child.stdin.end('select 1;\n\\q\n');
  const ended = new Promise<Ended>((resolve) =>
    child.once('close', (code) => {
      children.delete(child);
      resolve({ code, output });
    }),
  );
  const until = async (pattern: RegExp) => {
    while (!pattern.test(output)) {
      if (child.exitCode !== null) throw new Error(`${line}\nended without ${String(pattern)}:\n${output}`);
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  };
  const interrupt = () => {
    if (child.pid !== undefined) process.kill(-child.pid, 'SIGINT');
    return ended;
  };
  return { ended, until, interrupt };
}

/** The `duckdb` that a reader has installed, on the library that the program itself uses. */
const DUCKDB = `#!${process.execPath}
const { DuckDBInstance } = require(${JSON.stringify(createRequire(import.meta.url).resolve('@duckdb/node-api'))});
const { readFileSync } = require('node:fs');
(async () => {
  const connection = await (await DuckDBInstance.create(':memory:')).connect();
  const [statements, files] = [[], []];
  for (let at = 2; at < process.argv.length; at += 2)
    (process.argv[at] === '-init' ? files : statements).push(process.argv[at + 1]);
  const all = process.argv.includes('-cmd') ? [...statements, ...files.map((file) => readFileSync(file, 'utf8'))]
    : [...files.map((file) => readFileSync(file, 'utf8')), ...statements];
  for (const statement of all) console.log((await connection.runAndReadAll(statement)).getRowsJson().length + ' rows');
  process.exit(0);
})().catch((error) => { console.error(error); process.exit(1); });
`;

const scripts = new Set(
  Object.keys(
    (JSON.parse(readFileSync(join(packageRoot, 'package.json'), 'utf8')) as { scripts: object }).scripts,
  ),
);

let root: string;
let simulator: Simulator;
let program: string;
let server: DumpableServer;
const urlOf = (name: string) => Object.assign(new URL(server.url), { pathname: `/${name}` }).href;
const settings = () => ({
  LANG: 'C.UTF-8',
  TONCENTER_NETWORK: simulator.url,
  TONCENTER_RPS: '200',
  ETL_LISTEN: 'off',
});

beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), 'toncenter-etl-docs-'));
  await chmod(root, 0o755);
  const network = { start: now - SECONDS, duration: SECONDS, accounts: 100, load: 1, electionSeconds: 900 };
  const [compiled] = await Promise.all([
    compile(),
    startSimulator(network).then((started) => (simulator = started)),
    openDumpable(join(root, 'data')).then((opened) => (server = opened)),
  ]);
  program = join(compiled, 'src', 'cli.js');
  await query(server.url, 'create database crawled');
  const env = { ...settings(), PATH: process.env['PATH'] ?? '', HOME: root, DATABASE_URL: urlOf('crawled') };
  const { code, output } = await shell(`node ${program} backfill ${RANGE}`, root, env).ended;
  expect(code, output).toBe(0);
}, 300_000);
afterAll(async () => {
  await simulator.close();
  await server.close();
  await rm(root, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 });
});

/** What a page expects on its reader's machine before a command, and the command that makes it if it is missing. */
const NEEDS: readonly (readonly [RegExp, string, string])[] = [
  [/'proved'/, 'proved', `toncenter-etl verify ${RANGE} --only transactions`],
  [/\bpromote\b/, 'promoted', `env -u DATABASE_URL toncenter-etl backfill ${RANGE} --only blocks`],
  [
    /\bjetton_masters\b/,
    'masters',
    `toncenter-etl backfill ${RANGE} --only jetton_masters && toncenter-etl export ${RANGE} --only jetton_masters --out ./lake`,
  ],
  [
    /\bexchanges\.csv$/,
    'labels',
    String.raw`printf 'address,label\n0:%064d,an exchange\n' 1 > exchanges.csv`,
  ],
  [/\blake\b/, 'lake', `toncenter-etl export ${RANGE} --out ./lake`],
];
/**
 * Commands that may end with 3: their result depends on an hour that has not come yet, or on a year that was
 * not read.
 */
const MAY_LACK = /\bverify\b|--check\b/;
const SERVES = /toncenter-etl (?:sync|simulate)\b/;

describe.each(pages.filter((page) => blocksOf(page).length > 0))('docs/%s', (page) => {
  const blocks = blocksOf(page);
  const name = `page_${pages.indexOf(page)}`;
  const made = new Set<string>();
  let home: string;
  let env: Record<string, string>;
  let port: number;
  beforeAll(async () => {
    home = join(root, name);
    const bin = join(home, 'bin');
    await mkdir(bin, { recursive: true });
    await symlink(program, join(bin, 'toncenter-etl'));
    await writeFile(join(bin, 'duckdb'), DUCKDB, { mode: 0o755 });
    for (const folder of ['docs', 'deploy']) await symlink(join(packageRoot, folder), join(home, folder));
    await symlink(join(packageRoot, 'docs', 'analyst', 'lake.sql'), join(home, 'lake.sql'));
    await writeFile(join(home, 'report.sql'), 'select count(*) from transactions;\n');
    await query(server.url, `create database ${name} template crawled`);
    await query(server.url, `create database ${name}_empty`);
    port = await freePort();
    const path = `${bin}${delimiter}${process.env['PATH'] ?? ''}`;
    env = { ...settings(), PATH: path, HOME: home, DATABASE_URL: urlOf(name) };
  }, 60_000);

  /** Replaces the names of the docs by those of this machine. */
  const adapt = (line: string): string =>
    line
      .replace(/^[\d*/,-]+ +[\d*/,-]+ +\S+ +\S+ +\S+ +/, '')
      .replace('cd /opt/toncenter-etl && ', '')
      .replaceAll(/npx toncenter-etl|node dist\/src\/cli\.js/g, 'toncenter-etl')
      .replaceAll(/(?:TONCENTER_API_KEY|PGPASSWORD)=…? */g, '')
      .replace(/TONCENTER_NETWORK=demo (?=toncenter-etl verify)/, '')
      .replace(/(.*)\bpromote postgres\S+/, `env -u DATABASE_URL $1promote ${urlOf(`${name}_empty`)}`)
      .replaceAll(/postgres(?:ql)?:\/\/[^\s'"]*\/ton\b/g, urlOf(name))
      .replaceAll(/postgres(?:ql)?:\/\/[^\s'"]*\/restored\b/g, urlOf(`${name}_restored`))
      .replaceAll(/\brestored$/g, `${name}_restored`)
      .replaceAll('target_session_attrs=standby', 'target_session_attrs=any')
      .replaceAll(/--from \S+ --to \S+/g, RANGE)
      .replaceAll(/'20\d\d-[^']*', *'20\d\d-[^']*'/g, `'${iso(FROM)}', '${iso(TO)}'`)
      .replaceAll('/data/lake', join(home, 'lake'))
      .replaceAll('8090', String(port))
      .replace(/^(?!export )(.*)\bETL_DATA_DIR=/, 'env -u DATABASE_URL $1ETL_DATA_DIR=');

  const run = async (line: string) => {
    const { code, output } = await shell(line, home, env).ended;
    expect(MAY_LACK.test(line) ? [0, 3] : [0], `${line}\n${output}`).toContain(code);
  };

  const prepare = async (line: string) => {
    for (const [pattern, what, command] of NEEDS) {
      if (!pattern.test(line) || made.has(what)) continue;
      made.add(what);
      if (!/\bexport\b.*lake/.test(line)) await run(command);
    }
  };

  /** Why a line cannot be run here. */
  const inTheWay = (line: string): string | undefined => {
    if (/^docker /.test(line)) return 'docker is not there';
    if (line.includes('$FRONT')) return 'test/deploy/front.test.ts makes a front of two databases';
    if (/^(?:pg_|createdb)/.test(line) && !server.canDump) return 'no server of the version of pg_dump';
    const [, tool] =
      /(?:^|&& )(?:\w+=(?:'[^']*'|"[^"]*"|\S+) +)*(psql|pg_\w+|createdb|flock|curl|python3|superset|dbt)\b/.exec(
        line,
      ) ?? [];
    return tool === undefined || installed(tool) ? undefined : `${tool} is not installed`;
  };

  const runCommands = async (commands: readonly string[]) => {
    const servers: ReturnType<typeof shell>[] = [];
    for (const given of commands) {
      const [, script] = /^npm (?:run )?([\w:-]+)/.exec(given) ?? [];
      if (script !== undefined) {
        expect(['ci', 'install', ...scripts]).toContain(script);
        continue;
      }
      const line = adapt(given);
      const why = inTheWay(line);
      if (why !== undefined) {
        console.log(`left out, because ${why}: ${given}`);
        continue;
      }
      await prepare(line);
      if (SERVES.test(line)) {
        const running = shell(line, home, env);
        servers.push(running);
        await running.until(/daemon started|address +http/);
      } else await run(line);
    }
    for (const running of servers.reverse()) {
      const { code, output } = await running.interrupt();
      expect(code, output).toBe(0);
    }
  };

  const runSql = async (statements: readonly string[]) => {
    for (const statement of statements.map(adapt)) {
      await prepare(statement);
      await writeFile(join(home, 'statement.sql'), `${statement};\n`);
      await run(`toncenter-etl sql < statement.sql # ${statement.replaceAll('\n', ' ')}`);
    }
  };

  const runnable = blocks.filter(({ kind }) => kind !== 'left out');
  if (runnable.length < blocks.length)
    test('prints which blocks are left out', () => {
      for (const { line, kind, parts } of blocks)
        if (kind === 'left out') console.log(`docs/${page}:${line} left out: ${parts.join()}`);
    });
  if (runnable.length > 0)
    test.each(runnable)('the block of line $line', { timeout: 300_000 }, ({ kind, parts }) =>
      kind === 'sql' ? runSql(parts) : runCommands(parts),
    );
});
