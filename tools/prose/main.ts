import { dirname } from 'node:path';
import { parseArgs } from 'node:util';
import { measure, select, wordsOf, type Count } from './measures.ts';
import { codeOf, pagesOf, type Sentence } from './sentences.ts';

/*
 * `npm run prose [-- --list where|whoever|others|long] [--in src/crawl] [--root DIR]`: measures the English
 * of comments, messages and pages by room. It prints, per 1,000 sentences, those with "if", with "where" as a
 * condition, with `whoever`, `nobody` and the like, and with "others". Then come the mean words of a
 * sentence, and the number of sentences of more than 30 words. `--list` prints the sentences of one of these
 * instead, the longest first.
 */

const { values } = parseArgs({
  options: { list: { type: 'string' }, in: { type: 'string' }, root: { type: 'string' } },
});
const root = values.root ?? process.cwd();
const code = codeOf(root);
const pages = pagesOf(root);
const isProduct = (one: Sentence) => !/^(?:test|tools)\//.test(one.path);
const LISTS: readonly Count[] = ['if', 'where', 'whoever', 'others', 'long'];
const list = LISTS.find((name) => name === values.list);

if (list !== undefined) printList(list);
else printTable();

function printTable(): void {
  console.log(`${''.padEnd(24)}sentences    if where whoever others words long`);
  const rooms = new Map(
    [...code, ...pages]
      .map((one) => [roomOf(one.path), [] as Sentence[]] as const)
      .sort(([a], [b]) => a.localeCompare(b)),
  );
  for (const one of [...code, ...pages]) rooms.get(roomOf(one.path))?.push(one);
  for (const [room, sentences] of rooms) printRow(room, sentences);
  printRow('PRODUCT', code.filter(isProduct));
  printRow('PAGES', pages);
}

function printRow(name: string, sentences: readonly Sentence[]): void {
  const { sentences: count, ...rest } = measure(sentences);
  const widths = [9, 6, 6, 8, 7, 6, 5];
  const numbers = [count, rest.if, rest.where, rest.whoever, rest.others, rest.words, rest.long];
  console.log(
    name.padEnd(24) + numbers.map((value, index) => String(value).padStart(widths[index] ?? 6)).join(''),
  );
}

function printList(count: Count): void {
  const found = select([...code, ...pages], count).filter((one) => one.path.startsWith(values.in ?? ''));
  for (const { path, line, text } of found.sort((a, b) => wordsOf(b.text) - wordsOf(a.text)))
    console.log(`${path}:${line}: ${text}`);
}

/** `src/crawl`, `jobs`, `docs/lake.md`. */
function roomOf(path: string): string {
  const folder = path
    .split('/')
    .slice(0, path.startsWith('src/') ? 2 : 1)
    .join('/');
  return path.endsWith('.md') ? path : folder.endsWith('.ts') ? dirname(folder) : folder;
}
