import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import ts from 'typescript';

/** A sentence with its file and line. */
export interface Sentence {
  readonly path: string;
  readonly line: number;
  readonly text: string;
}

/** Pages that a program writes from the schema or from measurements. */
const GENERATED = /^docs\/(members|verification-matrix|analyst\/(dictionary|diagram))\.md$/;

/** Strings that are messages: four words or more. Other strings are names, SQL and JSON. */
const MESSAGE =
  /^(?!\s*(?:select|insert|update|delete|with|create|alter|drop|copy|from|where|set)\b)[^{<]*(?:[A-Za-z'’,:;]+ ){3}/;

/** Comments and messages of the code: of TypeScript below `src`, `jobs`, `tools` and `test`, and of the migrations. */
export function codeOf(root: string): Sentence[] {
  const sources = ['src', 'jobs', 'tools', 'test'].flatMap((folder) => filesOf(root, folder, '.ts'));
  return [
    ...sources.flatMap((path) => sentencesOfSource(path, readFileSync(join(root, path), 'utf8'))),
    ...filesOf(root, 'migrations', '.sql').flatMap((path) =>
      sentencesOfSql(path, readFileSync(join(root, path), 'utf8')),
    ),
  ];
}

/** The prose of pages that people write. */
export function pagesOf(root: string): Sentence[] {
  const pages = [
    'README.md',
    'CHANGELOG.md',
    'CONTRIBUTING.md',
    'SECURITY.md',
    ...filesOf(root, 'docs', '.md'),
  ];
  return pages
    .filter((path) => !GENERATED.test(path))
    .flatMap((path) => sentencesOfPage(path, readFileSync(join(root, path), 'utf8')));
}

function filesOf(root: string, folder: string, ending: string): string[] {
  const names = readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' });
  return names
    .filter((name) => name.endsWith(ending))
    .map((name) => join(folder, name))
    .sort();
}

/** The sentences of comments, and of strings that are messages. */
export function sentencesOfSource(path: string, text: string): Sentence[] {
  const file = ts.createSourceFile(path, text, ts.ScriptTarget.ES2023, true);
  const comments = new Map<number, number>();
  const found: Sentence[] = [];
  const add = (at: number, prose: string) => {
    const { line } = file.getLineAndCharacterOfPosition(at);
    found.push(...sentencesIn(prose).map((one) => ({ path, line: line + 1, text: one })));
  };
  const visit = (node: ts.Node): void => {
    for (const one of [
      ...(ts.getLeadingCommentRanges(text, node.pos) ?? []),
      ...(ts.getTrailingCommentRanges(text, node.end) ?? []),
      ...(ts.getTrailingCommentRanges(text, node.end + 1) ?? []),
    ])
      comments.set(one.pos, one.end);
    const message = isCounted(path, node) ? messageOf(node) : undefined;
    if (message !== undefined) add(node.getStart(file), message);
    ts.forEachChild(node, visit);
  };
  visit(file);
  for (const [from, to] of joinLines(
    text,
    [...comments].sort(([a], [b]) => a - b),
  ))
    add(from, withoutMarks(text.slice(from, to)));
  return found.sort((a, b) => a.line - b.line);
}

/** Comments of one line each that follow one another are one text. */
function joinLines(text: string, ranges: readonly (readonly [number, number])[]): [number, number][] {
  const joined: [number, number][] = [];
  for (const [from, to] of ranges) {
    const last = joined.at(-1);
    if (last !== undefined && text.startsWith('//', from) && /^\n\s*$/.test(text.slice(last[1], from)))
      last[1] = to;
    else joined.push([from, to]);
  }
  return joined;
}

function withoutMarks(comment: string): string {
  return comment
    .replace(/^\/\*\*?/, '')
    .replace(/\*\/$/, '')
    .replaceAll(/^ *(?:\*|\/\/|--) ?/gm, '')
    .replaceAll(/\{@link ([^}]*)\}/g, '`$1`')
    .replaceAll(/^@\w+.*$/gm, '\n');
}

/** Strings of the product count. Of those in tests, only titles do: the first argument of `test`, `describe.skipIf(…)` and the like. */
function isCounted(path: string, node: ts.Node): boolean {
  if (!/^(?:test|tools)\//.test(path)) return true;
  return (
    !ts.isSourceFile(node) &&
    ts.isCallExpression(node.parent) &&
    node.parent.arguments[0] === node &&
    /^(?:test|it|describe|thorough)\b/.test(node.parent.expression.getText())
  );
}

/** The text of a string that people read. Parts that are computed count as one word. */
function messageOf(node: ts.Node): string | undefined {
  if (ts.isSourceFile(node)) return undefined;
  const { parent } = node;
  if (ts.isImportDeclaration(parent) || ts.isTaggedTemplateExpression(parent)) return undefined;
  const text = ts.isStringLiteralLike(node)
    ? node.text
    : ts.isTemplateExpression(node)
      ? node.head.text + node.templateSpans.map((span) => `it${span.literal.text}`).join('')
      : undefined;
  return text !== undefined && MESSAGE.test(text) ? text : undefined;
}

/** The sentences of `--` comments, and of strings that are messages. */
function sentencesOfSql(path: string, sql: string): Sentence[] {
  const texts = sql.matchAll(/(?:^[ \t]*--.*\n)+|'((?:[^'\n]|'')*)'/gm);
  return [...texts].flatMap((match) => {
    const [whole, string] = match;
    if (string !== undefined && !MESSAGE.test(string)) return [];
    const line = sql.slice(0, match.index).split('\n').length;
    return sentencesIn(withoutMarks(string ?? whole)).map((text) => ({ path, line, text }));
  });
}

/** The sentences of a page's prose: without code, tables, headings and addresses of links. */
export function sentencesOfPage(path: string, markdown: string): Sentence[] {
  const blank = (text: string) => text.replaceAll(/[^\n]/g, '');
  const prose = markdown
    .replaceAll(/^ *```[\s\S]*?^ *```$/gm, blank)
    .replaceAll(/^[ >]*\|.*$/gm, '')
    .replaceAll(/^#.*$/gm, '')
    .replaceAll(/\]\([^)]*\)/g, ']');
  return prose.split('\n\n').reduce(
    ({ line, found }, block) => ({
      line: line + block.split('\n').length + 1,
      found: [...found, ...sentencesIn(block).map((text) => ({ path, line, text }))],
    }),
    { line: 1, found: [] as Sentence[] },
  ).found;
}

/**
 * A piece of code counts as one word. Lines of tables (`|`, or columns of spaces) and of examples are no
 * prose; neither is a text without two words.
 */
function sentencesIn(prose: string): string[] {
  return prose
    .replaceAll(/^ *```[\s\S]*?^ *```$/gm, '\n\n')
    .replaceAll(/^(?:\|| {3}|.*\S {2,}\S).*$/gm, '\n')
    .replaceAll(/`[^`]*`/g, 'code')
    .split(/\n{2,}|\n(?=\s*(?:[-*#]|\d+\.) )/)
    .flatMap((block) => block.trim().split(/(?<=[.!?])[*)"]*\s+/))
    .map((sentence) => sentence.replaceAll(/\s+/g, ' ').replace(/^(?:[-*#]+|\d+\.) /, ''))
    .filter((sentence) => /[A-Za-z]\S* \S*[A-Za-z]/.test(sentence));
}
