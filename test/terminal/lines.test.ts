import { spawn } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { afterEach, beforeAll, describe, expect, test } from 'vitest';
import { compile } from '../support/program/compile.ts';
import { some } from '../support/thorough.ts';

let writer: string;
beforeAll(async () => {
  writer = join(await compile(), 'test', 'support', 'program', 'log-writer.js');
});

const children = new Set<ReturnType<typeof spawn>>();
afterEach(() => {
  for (const child of children) child.kill('SIGKILL');
  children.clear();
});

/** A process that logs so many lines at once and then ends in the given way; no process reads its log yet. */
function startWriter(format: string, lines: number, how: string) {
  const child = spawn(process.execPath, [writer, format, String(lines), how], { stdio: 'pipe' });
  children.add(child);
  const code = new Promise<number | null>((resolve) => child.once('exit', resolve));
  let printed = '';
  const { stdout } = child;
  stdout.on('data', (part: Buffer) => (printed += part.toString()));
  const says = async (word: string) => {
    while (!printed.includes(word)) await new Promise((resolve) => stdout.once('data', resolve));
  };
  return { child, code, says };
}

/** More than a pipe holds, and less than may wait. */
const SOME = 3000;
/** More than may wait. */
const TOO_MANY = 20_000;

const numbersIn = (log: string) => [...log.matchAll(/"seqno":(\d+)/g)].map(([, number]) => Number(number));
const upTo = (count: number) => Array.from({ length: count }, (_, number) => number);

/** Reads a stream until it matches, and returns the text so far. */
async function readUntil(stream: Readable, pattern: RegExp): Promise<string> {
  let seen = '';
  for await (const part of stream.iterator({ destroyOnReturn: false })) {
    seen += String(part);
    if (pattern.test(seen)) return seen;
  }
  throw new Error(`ended without ${String(pattern)}`);
}

describe.each(some(['json', 'pretty'], 1))('a log as %s', (format) => {
  test('whose reader stops blocks no process, and reports afterwards how much was dropped', async () => {
    const { child, code, says } = startWriter(format, TOO_MANY, 'wait');
    await says('logged');
    const before = await readUntil(child.stderr, /log lines dropped.*\n/);
    child.stdin.end('go on\n');
    const log = before + (await text(child.stderr));
    expect(await code).toBe(0);
    const numbers = numbersIn(log);
    const dropped = Number(/"lines":(\d+)/.exec(log)?.[1]);
    expect(dropped).toBeGreaterThan(0);
    expect(numbers).toEqual([...upTo(TOO_MANY - dropped), TOO_MANY]);
  });

  test('whose reader never reads again keeps no process from its end', async () => {
    const { child, code } = startWriter(format, TOO_MANY, 'wait');
    child.stdin.end('go on\n');
    expect(await code).toBe(0);
  });

  test.each([
    ['return', 0],
    ['exit', 3],
    ['throw', 1],
  ])('is whole at a slow reader when the process ends by %s', async (how, exit) => {
    const { child, code, says } = startWriter(format, SOME, how);
    await says('leaving');
    const log = await text(child.stderr);
    expect(await code).toBe(exit);
    expect(numbersIn(log)).toEqual(upTo(SOME));
    expect(log.includes('an unexpected error')).toBe(how === 'throw');
  });

  test.skipIf(process.platform !== 'linux').each(['/dev/full', 'a reader that has left'])(
    'that goes to %s ends no process',
    async (target) => {
      const full = openSync('/dev/full', 'w');
      const stderr = target === '/dev/full' ? full : 'pipe';
      const child = spawn(process.execPath, [writer, format, String(TOO_MANY), 'exit'], {
        stdio: ['ignore', 'ignore', stderr],
      });
      child.stderr?.destroy();
      const code = await new Promise<number | null>((resolve) => child.once('exit', resolve));
      closeSync(full);
      expect(code).toBe(3);
    },
  );
});
