import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';

const ROOT = join(import.meta.dirname, '..');
const textOf = (path: string): string => readFileSync(join(ROOT, path), 'utf8');

const entries = textOf('docs/glossary.md')
  .split('\n')
  .filter((line) => line.startsWith('- '));

describe('the glossary', () => {
  test('has one sentence of at most 30 words for each of at most 30 words', () => {
    expect(entries.length).toBeGreaterThan(20);
    expect(entries.length).toBeLessThanOrEqual(30);
    const wrong = entries.filter((entry) => {
      const [, sentence = ''] = /^- \*\*[a-z -]+\*\*: ([A-Z][^.!?]*\.)$/.exec(entry) ?? [];
      return sentence === '' || sentence.split(' ').length > 30;
    });
    expect(wrong).toEqual([]);
  });

  test('is in alphabetical order, each word once', () => {
    const words = entries.map((entry) => entry.split('**')[1] ?? '');
    expect(words).toEqual([...new Set(words)].sort());
  });
});

/** The glossary has the words that replaced these. */
const REPLACED = new Set([
  'blind',
  'crew',
  'errand',
  'errands',
  'lookout',
  'mend',
  'mended',
  'nap',
  'patiently',
  'sentry',
  'temper',
  'told',
  'untold',
  'wish',
  'wished',
  'wishes',
]);

/** Texts that name what older versions stored or serve it unchanged, and pages made from them. */
const EXEMPT = /^(src\/tables\/|docs\/members\.md|docs\/analyst\/(dictionary|diagram)\.md)/;

/**
 * Names that every version stores or prints: of the process that reads the watermark, and of the limitations
 * of a grade.
 */
const KEPT_NAMES = /'lookout'|\bblind_to\b|\bblindTo\b/g;

test('words that the glossary has replaced occur nowhere', () => {
  const files = ['src', 'jobs', 'tools', 'docs', 'web']
    .flatMap((folder) =>
      readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' }).map((name) =>
        join(folder, name),
      ),
    )
    .concat('README.md')
    .filter((path) => /\.(ts|md|html)$/.test(path) && !EXEMPT.test(path));
  const found = files.flatMap((path) =>
    textOf(path)
      .split('\n')
      .flatMap((line, index) =>
        wordsOf(line.replaceAll(KEPT_NAMES, ''))
          .filter((word) => REPLACED.has(word))
          .map((word) => `${path}:${index + 1}: ${word}`),
      ),
  );
  expect(found).toEqual([]);
});

/** Words of prose and of identifiers: `startCrew` has two. */
function wordsOf(line: string): string[] {
  return line
    .replaceAll(/([a-z])([A-Z])/g, '$1 $2')
    .toLowerCase()
    .split(/[^a-z]+/);
}
