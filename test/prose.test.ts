import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';

const ROOT = join(import.meta.dirname, '..');
const LONGEST = 30;

/** Pages that a program writes from the schema. */
const GENERATED = /^docs\/(members|verification-matrix|analyst\/(dictionary|diagram))\.md$/;

const pages = [
  'README.md',
  'CHANGELOG.md',
  ...readdirSync(join(ROOT, 'docs'), { recursive: true, encoding: 'utf8' }).map((name) => join('docs', name)),
].filter((path) => path.endsWith('.md') && !GENERATED.test(path));

test.each(pages)(`no sentence of %s has more than ${LONGEST} words`, (page) => {
  const long = sentencesOf(readFileSync(join(ROOT, page), 'utf8')).filter(
    (sentence) => sentence.split(' ').length > LONGEST,
  );
  expect(long).toEqual([]);
});

/** The sentences of a page's prose: without code, tables and addresses of links. A piece of code counts as one word. */
function sentencesOf(markdown: string): string[] {
  return markdown
    .replaceAll(/^ *```[\s\S]*?^ *```$/gm, '\n')
    .replaceAll(/^\|.*$/gm, '\n')
    .replaceAll(/`[^`\n]*`/g, 'code')
    .replaceAll(/\]\([^)]*\)/g, ']')
    .split(/\n{2,}|\n(?=\s*(?:[-*#]|\d+\.) )/)
    .flatMap((block) => block.trim().split(/(?<=[.!?])[*)"]*\s+/))
    .map((sentence) => sentence.replaceAll(/\s+/g, ' ').replace(/^(?:[-*#]+|\d+\.) /, ''));
}
