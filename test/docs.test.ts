import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { describe, expect, test } from 'vitest';
import { systemClock } from '../src/clock.ts';
import { createProgram } from '../src/commands/program.ts';
import { SETTING_NAMES } from '../src/settings/config.ts';
import type { AnyJob, Dataset } from '../src/dataset/dataset.ts';
import { loadDatasets } from '../src/dataset/load-jobs.ts';
import { TIME_FORMS } from '../src/range.ts';
import { runSql } from '../src/read/free-sql.ts';
import { readReport } from '../src/status/report.ts';
import { createSnapshots } from '../src/status/snapshot.ts';
import { ROUTES_OF } from '../src/simulator/http/api.ts';
import { testConfig } from './support/crawl.ts';
import { openTestStore } from './support/database/database.ts';
import { openapiPaths } from './support/openapi.ts';
import { hasOpenapi, NO_OPENAPI } from './support/shared-data.ts';

const ROOT = join(import.meta.dirname, '..');
const pages = [
  'README.md',
  'CHANGELOG.md',
  ...readdirSync(join(ROOT, 'docs'), { recursive: true, encoding: 'utf8' }).map((name) => join('docs', name)),
].filter((path) => path.endsWith('.md'));
const textOf = (path: string): string => readFileSync(join(ROOT, path), 'utf8');
const all = pages.map(textOf).join('\n');

/** Everything that is set as code: between backticks, or in a fenced block. */
const code = [...all.matchAll(/```[\s\S]*?```|`[^`\n]+`/g)].map(([text]) => text);

function isNamed(words: RegExp): boolean {
  return code.some((text) => words.test(text));
}

/** The index that finds each request of a dataset on the server; a node's own methods do not name one. */
function indexesOf({ job }: Dataset<AnyJob>): string[] {
  if (!('walks' in job))
    return [job.index.of === 'lt' ? `${job.index.columns}, by logical times` : job.index.columns];
  return job.walks.flatMap(({ endpoint }) => ('path' in endpoint ? [endpoint.index] : []));
}

test("docs/endpoints.md names for each dataset the server's index that its requests use", async () => {
  const rows = (await loadDatasets()).flatMap((dataset) => {
    const indexes = [...new Set(indexesOf(dataset))];
    return indexes.length === 0 ? [] : [`| \`${dataset.name}\` | ${indexes.join('; ')} |`];
  });
  const stored = textOf('docs/endpoints.md').split('\n');
  expect(rows.filter((row) => !stored.includes(row)).join('\n')).toBe('');
});

/** Every path that the page names in code. */
function namedEndpoints(): Set<string> {
  return new Set([...textOf('docs/endpoints.md').matchAll(/\/api\/v[23]\/[\w/]+/g)].map(([path]) => path));
}

test('docs/endpoints.md names every route of the simulator', () => {
  const named = namedEndpoints();
  expect(Object.keys(ROUTES_OF['1.3']).filter((path) => !named.has(path))).toEqual([]);
});

test.skipIf(!hasOpenapi)(
  `docs/endpoints.md names every endpoint of the API${hasOpenapi ? '' : `: ${NO_OPENAPI}`}`,
  () => {
    const named = namedEndpoints();
    const paths = [...openapiPaths('v3'), ...openapiPaths('v2')];
    expect(paths.length).toBeGreaterThan(70);
    expect(paths.filter((path) => !named.has(path))).toEqual([]);
  },
);

test('README.md names every form of a time', () => {
  const [sentence = ''] = /^Write times as .*$/m.exec(textOf('README.md')) ?? [];
  expect(sentence.replace(' or ', ', ').replaceAll('`', '')).toContain(
    `Write times as ${TIME_FORMS.join(', ')}.`,
  );
});

test('docs/weather.md names tests that exist', () => {
  const rows = [...textOf('docs/weather.md').matchAll(/^\| .+ \| `(test\/[^`]+)` \| `(.+)` \|$/gm)];
  expect(rows.length).toBeGreaterThan(30);
  const isThere = (file: string, name: string) =>
    ["'", '`'].some((quote) => textOf(file).includes(`${quote}${name}${quote}`));
  expect(rows.filter(([, file = '', name = '']) => !isThere(file, name)).map(([row]) => row)).toEqual([]);
});

test('docs/operator/daemon.md names every member of /status, and no other', async () => {
  const store = await openTestStore();
  const jobs = await loadDatasets();
  const context = { database: store.database, clock: systemClock };
  const snapshot = await createSnapshots({ context, jobs, datasets: [], config: testConfig() })();
  const reported = new Set(Object.keys(await readReport(store.database, jobs, { rows: 'estimated' })));
  await store.close();
  const [, section = ''] = textOf('docs/operator/daemon.md').split('These are the members of `/status`.');
  const table = section.slice(0, section.indexOf('\nA square'));
  const named = [...table.matchAll(/^\| (`.*`) \| (only `\/status`)?/gm)].flatMap(([, cell = '', only]) =>
    cell.split(', ').map((name) => [name.slice(1, -1), only === undefined] as const),
  );
  const members = Object.keys(snapshot).map((name) => [name, reported.has(name)] as const);
  expect(named.sort()).toEqual(members.sort());
});

/** Every command that `--help` lists, with its subcommands. */
const listed = (await createProgram([])).commands.map((command) => command.name());
const wholes = await Promise.all(listed.map((name) => createProgram([name])));
const commands = wholes.flatMap((program, index) =>
  program.commands
    .filter((command) => command.name() === listed[index] && command.name() !== 'complete')
    .flatMap((command) => [
      command.name(),
      ...command.commands.map((child) => `${command.name()} ${child.name()}`),
    ]),
);

test("the description in --help is that of the command's file", async () => {
  const help = (await createProgram([])).helpInformation();
  for (const program of wholes) expect(program.helpInformation()).toBe(help);
});

describe('the documentation names', () => {
  test('commands are found at all', () => {
    expect(commands).toEqual(expect.arrayContaining(['backfill', 'sql', 'sync']));
  });

  // At the beginning of a piece of code, or as an argument of the program.
  test.each(commands)('the command %s', (name) => {
    expect(isNamed(new RegExp(`(^\`|toncenter-etl )${name}\\b`))).toBe(true);
  });

  test.each(SETTING_NAMES)('the setting %s, in the README', (name) => {
    expect(textOf('README.md')).toContain(`| \`${name}\` |`);
  });

  test('no setting that does not exist', () => {
    const named = [...all.matchAll(/\b(?:ETL|TONCENTER|LOG)_[A-Z_]+\b/g)].map(([name]) => name);
    expect([...new Set(named)].filter((name) => !SETTING_NAMES.includes(name))).toEqual([]);
  });

  test('every dataset, in the README, and none that does not exist', async () => {
    const names = (await loadDatasets()).map(({ name }) => name).sort();
    const section = /## Datasets\n([\s\S]*)/.exec(textOf('README.md'))?.[1] ?? '';
    const listed = [...section.matchAll(/^\| `(\w+)` \|/gm)].map(([, name = '']) => name).sort();
    expect(listed).toEqual(names);
  });
});

describe.each(pages)('%s', (page) => {
  const links = [...textOf(page).matchAll(/\]\(([^)\s]+)\)/g)]
    .map(([, target = '']) => target)
    .filter((target) => !/^[a-z]+:/.test(target));

  test('links only to what exists', () => {
    const broken = links.filter((target) => {
      const [path = '', anchor] = target.split('#');
      const file = path === '' ? page : normalize(join(dirname(page), path));
      return (
        !existsSync(join(ROOT, file)) || (anchor !== undefined && !anchorsOf(textOf(file)).includes(anchor))
      );
    });
    expect(broken).toEqual([]);
  });

  test('names only paths of the tree that exist', () => {
    const paths = [...textOf(page).matchAll(/`((?:src|jobs|test|docs|migrations)\/[\w./-]*)`/g)].map(
      ([, path = '']) => path,
    );
    expect(paths.filter((path) => !existsSync(join(ROOT, path)))).toEqual([]);
  });
});

test('every SQL example runs', async () => {
  const examples = [...all.matchAll(/```sql\n([\s\S]*?);?\n```/g)].map(([, statement = '']) => statement);
  const quoted = [...all.matchAll(/toncenter-etl sql "([^"]+)"/g)].map(([, statement = '']) => statement);
  expect(examples.length).toBeGreaterThan(2);
  const store = await openTestStore();
  for (const statement of [...examples, ...quoted])
    await runSql(store.database, statement, { write: false }).catch((error: unknown) => {
      // An empty database has none of the hashes that the examples look for, and says so.
      expect((error as Error).message).toMatch(/nothing that is stored has the hash/);
    });
  await store.close();
});

/** Pages that a program writes. */
const GENERATED = /^docs\/(members|verification-matrix|analyst\/(dictionary|diagram))\.md$/;
const MOST_WORDS = { page: 2000, all: 20_000 };
/** Words of prose without blocks of code; a piece of code between backticks is one word. */
function wordsOf(text: string): number {
  return text
    .replaceAll(/^ *```[\s\S]*?^ *```$/gm, '')
    .replaceAll(/`[^`\n]*`/g, 'code')
    .replaceAll(/\]\([^)]*\)/g, ']')
    .split(/\s+/)
    .filter((word) => /\w/.test(word)).length;
}

describe('handwritten pages are short:', () => {
  const written = pages
    .filter((page) => page.startsWith('docs/') || page === 'README.md')
    .filter((page) => !GENERATED.test(page))
    .map((page) => ({ page, words: wordsOf(textOf(page)) }));

  test(`none has more than ${MOST_WORDS.page} words`, () => {
    expect(written.filter(({ words }) => words > MOST_WORDS.page)).toEqual([]);
  });

  test(`together they have no more than ${MOST_WORDS.all} words`, () => {
    expect(written.reduce((sum, { words }) => sum + words, 0)).toBeLessThanOrEqual(MOST_WORDS.all);
  });
});

/** The anchors of the headings of a page. */
function anchorsOf(text: string): string[] {
  return [...text.matchAll(/^#+ (.*)$/gm)].map(([, title = '']) =>
    title
      .toLowerCase()
      .replaceAll(/[^\w\s-]/g, '')
      .replaceAll(' ', '-'),
  );
}
