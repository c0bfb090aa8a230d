import { subscribe } from 'node:diagnostics_channel';
import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { Session } from 'node:inspector';
import pg from 'pg';

/*
 * Loaded before the program (`node --import`): writes the files that a process passes, as JSON, to
 * WALK_OUTPUT.
 *
 *   called  files with a function that was called until the first commit of rows: since the response that WALK_PATH
 *           names, or, if it is empty, since the process began
 *   stack   files on the stack of that commit, from the command on; stacks cross awaits
 *
 * V8's counts of calls are read at the two borders, which sets them to zero. So calls before the response are
 * left out, and types have no calls.
 */

const output = process.env['WALK_OUTPUT'] ?? 'walk.json';
const path = process.env['WALK_PATH'] ?? '';
const session = new Session();
session.connect();
session.post('Profiler.enable');
session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false });
Error.stackTraceLimit = 500;

interface Coverage {
  readonly result: readonly {
    readonly url: string;
    readonly functions: readonly {
      readonly functionName: string;
      readonly ranges: readonly { readonly startOffset: number; readonly count: number }[];
    }[];
  }[];
}

/** Files with a function that was called since the last time; the function of a module itself begins at 0. */
function takeCalled(): string[] {
  let files: string[] = [];
  session.post('Profiler.takePreciseCoverage', (_error, taken: Coverage) => {
    files = taken.result
      .filter(({ functions }) =>
        functions.some(
          ({ ranges: [whole] }) => whole !== undefined && whole.startOffset > 0 && whole.count > 0,
        ),
      )
      .map(({ url }) => url);
  });
  return ours(files);
}

function ours(urls: readonly string[]): string[] {
  const found = urls.map((url) => /\/((?:src|jobs)\/[^?:)]*)\.js/.exec(url)?.[1]);
  return [...new Set(found.filter((one) => one !== undefined))].map((one) => `${one}.ts`);
}

let isOpen = false;
subscribe('undici:request:trailers', (message) => {
  const { request } = message as { request: { path: string } };
  if (isOpen || path === '' || !request.path.startsWith(path)) return;
  takeCalled();
  isOpen = true;
});

/** True after the statement that follows the rows of a page in their transaction. */
let isCovered = false;
let recorded = false;
// Typed with overloads that a replacement cannot satisfy.
const prototype = pg.Client.prototype as unknown as Record<
  'query',
  (this: unknown, ...args: unknown[]) => unknown
>;
const query = prototype.query;
prototype.query = function (this: unknown, ...args: unknown[]) {
  const text = textOf(args[0]);
  if (text.startsWith('insert into "etl"."coverage"')) isCovered = true;
  if (/^commit\b/i.test(text) && isCovered && !recorded && (path === '' || isOpen)) record();
  return query.apply(this, args);
};

/** Only the daemon's stop waits for its loops: their stacks begin when it logs that it has started. */
let started: string[] = [];
const { writeSync } = fs as unknown as Record<'writeSync', (...args: unknown[]) => unknown>;
Object.assign(fs, {
  writeSync: (...args: unknown[]) => {
    if (started.length === 0 && String(args[1]).includes('"daemon started"')) started = stackOfFiles();
    return writeSync(...args);
  },
});
syncBuiltinESMExports();

function stackOfFiles(): string[] {
  return ours((new Error().stack ?? '').split('\n'));
}

function record(): void {
  recorded = true;
  const stack = [...new Set([...stackOfFiles(), ...started])];
  const called = takeCalled();
  // A process that waits for the file finds all of it.
  fs.writeFileSync(`${output}.part`, JSON.stringify({ called, stack }));
  fs.renameSync(`${output}.part`, output);
}

function textOf(given: unknown): string {
  if (typeof given === 'string') return given.trim();
  if (typeof given !== 'object' || given === null || !('text' in given)) return '';
  return typeof given.text === 'string' ? given.text.trim() : '';
}
