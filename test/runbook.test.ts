import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import * as z from 'zod';

const ROOT = join(import.meta.dirname, '..');
const textOf = (path: string): string => readFileSync(join(ROOT, path), 'utf8');

/** The first cells of the tables below a heading, without their backticks. */
function rowsBelow(heading: string): string[] {
  const [, section = ''] = textOf('docs/operator/runbook.md').split(`\n## ${heading}\n`);
  return [...(section.split('\n## ')[0] ?? '').matchAll(/^\| `([^`]+)` \|/gm)].map(([, cell = '']) => cell);
}

/** A call of a logger that may be a warning or an error: by its name, or by a level that is decided there. */
const CALL = /\blogger(?:\??\.(?:warn|error|fatal)|\[[^\]]+\])\(/g;

/** The text between the parentheses that open before `from`. */
function argumentsAt(source: string, from: number): string {
  let [depth, at, quote] = [1, from, ''];
  for (; depth > 0 && at < source.length; at += 1) {
    const char = source[at] ?? '';
    if (quote !== '') {
      if (char === quote && source[at - 1] !== '\\') quote = '';
    } else if (`'"\``.includes(char)) quote = char;
    else if (char === '(') depth += 1;
    else if (char === ')') depth -= 1;
  }
  return source.slice(from, at - 1);
}

/** The texts of a call's last argument: more than one if it chooses between them. Fields come before it, in braces. */
function messagesOf(given: string): string[] {
  const last = given.slice(given.lastIndexOf('}') + 1);
  return [...last.matchAll(/'((?:[^'\\]|\\.)*)'|"([^"]*)"/g)].map(
    ([, single, double]) => single ?? double ?? '',
  );
}

/** Every warning and error that the program can log, with the file that logs it. */
function loggedMessages(): Map<string, string> {
  const found = new Map<string, string>();
  for (const name of readdirSync(join(ROOT, 'src'), { recursive: true, encoding: 'utf8' })) {
    if (!name.endsWith('.ts') || name.startsWith('simulator')) continue;
    const source = textOf(join('src', name));
    for (const match of source.matchAll(CALL)) {
      const messages = messagesOf(argumentsAt(source, match.index + match[0].length));
      // A message that this test cannot read would be missing from the page unnoticed.
      expect(messages, `${name}: ${match[0]}`).not.toEqual([]);
      for (const message of messages) found.set(message, name);
    }
  }
  return found;
}

test('the runbook has a row for every warning and error of the log, and for no other', () => {
  const logged = loggedMessages();
  expect(logged.size).toBeGreaterThan(30);
  const rows = rowsBelow('By log message');
  expect([...logged].filter(([message]) => !rows.includes(message))).toEqual([]);
  expect(rows.filter((row) => !logged.has(row))).toEqual([]);
  expect(rows).toEqual([...new Set(rows)]);
});

test('the runbook has a row for every alert, and for no other', () => {
  const Rules = z.object({
    groups: z.array(z.object({ rules: z.array(z.object({ alert: z.string() })) })),
  });
  const { groups } = Rules.parse(parse(textOf('deploy/prometheus/alerts.yml')));
  const alerts = groups.flatMap(({ rules }) => rules.map(({ alert }) => alert));
  expect(alerts.length).toBeGreaterThan(10);
  expect(rowsBelow('By alert').sort()).toEqual(alerts.sort());
});

test('every row of the runbook says what to do', () => {
  const rows = [...textOf('docs/operator/runbook.md').matchAll(/^\| [^-|].*$/gm)].map(([row]) => row);
  expect(rows.length).toBeGreaterThan(60);
  expect(rows.filter((row) => row.split(' | ').some((cell) => cell.replaceAll(/[|\s]/g, '') === ''))).toEqual(
    [],
  );
});

test('a line of the log that another page names is one of the log', () => {
  const pages = readdirSync(join(ROOT, 'docs'), { recursive: true, encoding: 'utf8' }).filter((name) =>
    name.endsWith('.md'),
  );
  const named = pages.flatMap((page) =>
    [...textOf(join('docs', page)).matchAll(/\bline\b[^`.|\n]*`([a-z][^`]* [^`]*)`/g)].map(
      ([, line = '']) => line,
    ),
  );
  const code = readdirSync(join(ROOT, 'src'), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts'))
    .map((name) => textOf(join('src', name)))
    .join('\n');
  expect(named.length).toBeGreaterThan(1);
  expect(named.filter((line) => !code.includes(`'${line}'`))).toEqual([]);
});
