/*
 * Runs the README's own blocks of commands, in their order, as a newcomer does: on a fresh clone, in one home
 * directory, without settings. `node tools/readme/run-blocks.js [CHECKOUT] [SECONDS]`; for an ordinary user
 * run it as one. It fails if the way to the first answer of SQL takes longer than SECONDS.
 *
 * Three things differ from the README. `npm test` is left out. The real networks are `simulate --live` of the
 * clone: TONCENTER_NETWORK names its URL, even if a block names testnet. Placeholders for a key and a server
 * (`…`, postgres://user:…) are replaced by a word and the embedded Postgres. `sync` is stopped by Ctrl-C once
 * it is healthy.
 */
import { spawn } from 'node:child_process';
import { cpSync, mkdtempSync, mkdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative, resolve } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';

const STATUS_PAGE = 'http://127.0.0.1:9465/health';

const checkout = resolve(process.argv[2] ?? '.');
/** From the clone to the first answer of SQL. */
const longestSeconds = Number(process.argv[3] ?? Infinity);
/** Files that a clone does not have. */
const NOT_CLONED = new Set(['.git', 'node_modules', 'dist']);
const place = mkdtempSync(join(tmpdir(), 'toncenter-etl-readme-'));
const app = join(place, 'app');
const home = join(place, 'home');
mkdirSync(home);
const env = { PATH: process.env.PATH, HOME: home, LANG: 'C.UTF-8' };
const children = new Set();

/** Starts a shell; `ended` has its exit code and all that it printed. */
function start(script, more = {}) {
  const child = spawn('bash', ['-euo', 'pipefail', '-c', script], {
    cwd: app,
    env: { ...env, ...more },
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true,
  });
  children.add(child);
  let output = '';
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (chunk) => {
      output += chunk;
      process.stdout.write(chunk);
    });
  const ended = new Promise((done) => {
    child.once('close', (code) => {
      children.delete(child);
      done({ code, output });
    });
  });
  return { child, ended, output: () => output };
}

async function run(script, more) {
  console.log(`\n$ ${script.trim().replaceAll('\n', '\n$ ')}`);
  const { code, output } = await start(script, more).ended;
  if (code !== 0) throw new Error(`exit ${code}: ${script}`);
  return output;
}

async function until(holds, what) {
  for (let left = 600; left > 0; left -= 1) {
    if (await holds()) return;
    await delay(200);
  }
  throw new Error(`waited in vain for ${what}`);
}

/** The blocks without a language above the list of commands: what a newcomer types. */
function blocksOf(readme) {
  const beginning = readme.slice(0, readme.indexOf('\n## Commands'));
  return [...beginning.matchAll(/^```(\w*)\n([\s\S]*?)^```$/gm)].flatMap(([, language, block]) =>
    language === '' ? [block] : [],
  );
}

/** The queries of a page whose results it shows. */
function examplesOf(page) {
  const text = readFileSync(join(app, page), 'utf8');
  const examples = [...text.matchAll(/^```sql\n([^`]*)```\n\n```(?:text)?\n([^`]*)```$/gm)];
  if (examples.length === 0) throw new Error(`${page} has lost its query`);
  return examples.map(([, question, answer]) => ({ page, question, answer }));
}

function adapt(block) {
  return block
    .replace(/^npm ci && npm test.*$/m, '')
    .replaceAll('testnet', '"$SIMULATED"')
    .replaceAll('…', 'key')
    .replace(/^export DATABASE_URL=.*$/m, '');
}

async function runSync(block, more) {
  console.log(`\n$ ${block.trim().replaceAll('\n', '\n$ ')}`);
  const daemon = start(block, more);
  await until(async () => (await fetch(STATUS_PAGE).catch(() => undefined))?.ok === true, 'the status page');
  process.kill(-daemon.child.pid, 'SIGINT');
  const { output } = await daemon.ended;
  if (/\berror: |ERROR/.test(output)) throw new Error('sync failed');
}

// A signal leaves nothing running.
for (const signal of ['SIGINT', 'SIGTERM'])
  process.once(signal, () => {
    for (const { pid } of children) process.kill(-pid, 'SIGINT');
    process.exitCode = 1;
  });

try {
  const began = performance.now();
  // This works on a machine without git, and in a checkout that is no repository.
  cpSync(checkout, app, { recursive: true, filter: (path) => !NOT_CLONED.has(relative(checkout, path)) });
  const [first = '', ...rest] = blocksOf(readFileSync(join(app, 'README.md'), 'utf8')).map(adapt);
  if (rest.length < 2) throw new Error('the README has lost its blocks');
  const shown = await run(first);
  const [next] = /^ +((?:\w+=\S+ )+npx .* sql .*)$/m.exec(shown)?.slice(1) ?? [];
  if (next === undefined) throw new Error('demo does not say how to continue');
  await run(next);
  for (const { page, question, answer } of ['README.md', 'docs/analyst/tutorial.md'].flatMap(examplesOf)) {
    const told = await run(`ETL_DATA_DIR=~/.toncenter-etl/demo npx toncenter-etl sql "${question}"`);
    if (!told.includes(answer)) throw new Error(`${page} shows another result of its query`);
  }
  const seconds = (performance.now() - began) / 1000;
  const simulator = start('npx toncenter-etl simulate --live --hours 2 --rate-limit sliding-window:25');
  await until(() => /http:\/\/127\.0\.0\.1:\d+/.test(simulator.output()), 'the simulator');
  const [url] = /http:\/\/127\.0\.0\.1:\d+/.exec(simulator.output());
  const settings = { TONCENTER_NETWORK: url, SIMULATED: url };
  for (const block of rest) {
    if (/ sync$/m.test(block)) {
      // Later it would find that the daemon has been stopped.
      await run('npx toncenter-etl doctor --json', settings);
      await runSync(block, settings);
    } else await run(block, settings);
  }
  for (const command of ['status', 'datasets transactions', '--version'])
    await run(`npx toncenter-etl ${command}`, settings);
  console.log(
    `\nreadme: ${rest.length + 1} blocks without an error, ${seconds.toFixed(0)} s from the clone to SQL`,
  );
  if (seconds > longestSeconds) throw new Error(`more than ${longestSeconds} s from the clone to SQL`);
} finally {
  for (const { pid } of children) process.kill(-pid, 'SIGKILL');
  rmSync(place, { recursive: true, force: true, maxRetries: 20, retryDelay: 50 });
}
