import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { connect } from 'node:net';
import { networkInterfaces } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { sql } from 'drizzle-orm';
import { describe, expect, test } from 'vitest';
import * as z from 'zod';
import { findQuarantined } from '../src/read/find-hash.ts';
import { readQuarantined } from '../src/read/quarantined.ts';
import { addWatch, readWatched } from '../src/ledger/subjects.ts';
import { createRedactor, passwordsIn } from '../src/settings/redact.ts';
import { printable } from '../src/terminal/terminal.ts';
import { compile } from './support/program/compile.ts';
import { startSimulator } from './support/simulator/simulator.ts';
import { openTestStore } from './support/database/database.ts';

const SOURCES = join(import.meta.dirname, '../src');
const sources = readdirSync(SOURCES, { recursive: true, encoding: 'utf8' })
  .filter((path) => path.endsWith('.ts'))
  .map((path) => ({ path, text: readFileSync(join(SOURCES, path), 'utf8') }));

describe('SQL', () => {
  test('is built from text only if the text is the program’s own', () => {
    const raw = sources.flatMap(({ text }) =>
      [...text.matchAll(/sql\.raw\((.*)/g)].map(([, what = '']) => what),
    );
    // Times that were formatted from numbers, and words that the code itself chooses.
    const own = [
      /^`from \('\$\{formatTime/,
      /^mode\)/,
      /^order\)/,
      /^`fetch \$\{BATCH\}/,
      /^mode === 'alone'/,
      // A boolean and two numbers, in a statement of COPY, which takes no parameters.
      /^String\(header\)/,
      /^String\(span\.from\)/,
      // An index, as Postgres itself prints it.
      /^definition\)/,
      // SQL that Drizzle generated from a statement of the code, with a parameter for each value.
      /^text\);/,
      // The names of a table's own columns, in the definition of another one.
      /^`case when jsonb_typeof\(\$\{decoded\}/,
      // The code's own words: a format of COPY, and times that are numbers, in a statement that takes no
      // parameters.
      /^format === 'csv' \?/,
      /^boundsOf\(span\)\)/,
    ];
    expect(raw.filter((what) => !own.some((pattern) => pattern.test(what)))).toEqual([]);
  });

  test('takes every word from outside as a value', async () => {
    const store = await openTestStore();
    const words = fc.string({
      unit: fc.constantFrom("'", '"', ';', '-', '\\', '$', '(', '{', '%', 'a', 'b', 'é', '\u{1F4A5}'),
      minLength: 1,
      maxLength: 20,
    });
    await fc.assert(
      fc.asyncProperty(words, async (word) => {
        await addWatch(store.database, word, word);
        expect((await readWatched(store.database)).map(({ note }) => note)).toContain(word);
        expect(await findQuarantined(store.database, word)).toEqual([]);
        expect(await readQuarantined(store.database, { datasets: [word] }, { after: 0, limit: 1 })).toEqual(
          [],
        );
      }),
      { numRuns: 30 },
    );
    await store.close();
  });
});

test('rows are committed in one place, which checks the schema of the database', () => {
  const others = sources.filter(({ text }) => text.includes('.transaction(')).map(({ path }) => path);
  expect(others.sort()).toEqual([
    'migrate/migrate.ts',
    'migrate/reader.ts',
    'postgres/database.ts',
    'read/row-estimates.ts',
    'read/table-rows.ts',
    'verify/checks/check.ts',
    'write/certificates.ts',
  ]);
});

describe('servers', () => {
  test('are bound to a given address, never to all of them', () => {
    const listens = sources.flatMap(({ path, text }) =>
      [...text.matchAll(/\.listen\((.*)/g)].map(([, what = '']) => ({ path, what })),
    );
    expect(listens.length).toBeGreaterThan(0);
    for (const { path, what } of listens) expect(what, path).toMatch(/127\.0\.0\.1|host|address/i);
    expect(
      sources.filter(({ text }) => /['"`](0\.0\.0\.0|::)['"`]/.test(text)).map(({ path }) => path),
    ).toEqual([]);
  });

  test('of the simulator respond on this machine only', async () => {
    const simulator = await startSimulator({ duration: 60 });
    const other = Object.values(networkInterfaces())
      .flatMap((all) => all ?? [])
      .find(({ internal, family }) => !internal && family === 'IPv4')?.address;
    if (other !== undefined) expect(await answers(other, simulator.port)).toBe(false);
    expect(await answers('127.0.0.1', simulator.port)).toBe(true);
    await simulator.close();
  });

  test.skipIf(process.env['DATABASE_URL'] !== undefined)(
    'of the embedded Postgres do, too, and they require a password',
    async () => {
      const store = await openTestStore();
      const [row] = await store.database.rows(
        sql`select current_setting('listen_addresses') as listens,
        (select count(*)::int from pg_hba_file_rules where auth_method not in ('scram-sha-256', 'md5')) as open`,
        z.object({ listens: z.string(), open: z.number() }),
      );
      expect(row).toEqual({ listens: '127.0.0.1', open: 0 });
      await store.close();
    },
  );
});

function answers(host: string, port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ host, port, timeout: 2000 });
    const end = (answered: boolean) => () => {
      socket.destroy();
      resolve(answered);
    };
    socket.on('connect', end(true)).on('error', end(false)).on('timeout', end(false));
  });
}

test('a secret is redacted in every form that a text may contain', () => {
  const secrets = fc
    .string({ minLength: 4, maxLength: 40, unit: 'grapheme-ascii' })
    .filter((secret) => !'[redacted]'.includes(secret));
  fc.assert(
    fc.property(secrets, (secret) => {
      const redact = createRedactor([undefined, '', secret]);
      for (const form of [
        secret,
        encodeURIComponent(secret),
        JSON.stringify(secret).slice(1, -1),
        new URLSearchParams({ q: secret }).toString().slice(2),
        encodeURIComponent(secret).replaceAll(/%[\dA-F]{2}/g, (escape) => escape.toLowerCase()),
        Buffer.from(secret).toString('base64'),
      ]) {
        expect(redact(`a ${form} b`)).toBe('a [redacted] b');
      }
    }),
  );
  const key = 'k3y-0123456789abcdef';
  for (const user of ['', 'u', 'us', 'user'])
    for (const encoding of ['base64', 'base64url'] as const) {
      const code = Buffer.from(`${user}:${key}@`).toString(encoding);
      const left = createRedactor([key])(`Basic ${code}`).replaceAll('[redacted]', '');
      expect(Buffer.from(left.slice(6), 'base64').toString('latin1')).not.toContain(key.slice(4, 12));
      expect(left.length).toBeLessThan(6 + code.length - key.length);
    }
  const urls = ['postgres://me:p%40ss@host/x', undefined, 'no url', 'postgres:///x?password=se%2Fcret'];
  expect(passwordsIn(...urls)).toEqual(['p%40ss', 'p@ss', 'se/cret']);
});

test('a short key changes no other word', () => {
  const text = 'a bad request, not a free one: freedom';
  for (const key of ['a', 'be', 'not']) expect(createRedactor([key], '[key]')(text)).toBe(text);
  expect(createRedactor(['free'], '[key]')(text)).toBe('a bad request, not a [key] one: freedom');
});

/** It would change the title of a window, its colors, its contents, and the order of letters. */
const HOSTILE = '\u001B]0;owned\u0007\u001B[2J\u009B31mred\u202Eback\r';

test('control characters never reach a terminal', async () => {
  expect(printable(`${HOSTILE}one\n\ttwo`)).toMatch(
    /^\uFFFD\]0;owned\uFFFD\uFFFD\[2J\uFFFD31mred\uFFFDback\uFFFDone\n\ttwo$/,
  );
  const store = await openTestStore();
  const program = `node ${join(await compile(), 'src', 'cli.js')}`;
  await store.database.run(
    sql`insert into etl.failures (dataset, code, message) values ('blocks', 'api_failed', ${HOSTILE})`,
  );
  const run = (command: string, wrapped: readonly string[]) => {
    const [file = '', ...args] = wrapped;
    const env = { PATH: process.env['PATH'], TERM: 'xterm', DATABASE_URL: store.url, HOSTILE };
    return spawnSync(file, [...args, `${program} ${command}`, '/dev/null'], { env }).stdout.toString();
  };
  for (const command of ['status', `sql "select '$HOSTILE' as name"`]) {
    const shown = run(command, ['script', '-qec']);
    expect(shown).toContain('owned');
    // The terminal itself adds carriage returns.
    expect(shown.replaceAll('\r\n', '\n')).toBe(printable(shown.replaceAll('\r\n', '\n')));
  }
  // In a pipe nothing is changed.
  expect(run(`sql "select '$HOSTILE' as name"`, ['sh', '-c'])).toContain(HOSTILE.trim());
  await store.close();
});
