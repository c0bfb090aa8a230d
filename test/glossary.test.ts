import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';

const ROOT = join(import.meta.dirname, '..');
const textOf = (path: string): string => readFileSync(join(ROOT, path), 'utf8');

const entries = textOf('docs/glossary.md')
  .split('\n')
  .filter((line) => line.startsWith('- '));

describe('the glossary', () => {
  test('has one sentence of at most 30 words for each word', () => {
    expect(entries.length).toBeGreaterThan(50);
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
