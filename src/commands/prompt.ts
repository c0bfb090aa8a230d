import { type AsyncCompleter, createInterface, type Interface } from 'node:readline';
import { EtlError } from '../errors.ts';
import { reportError } from './run-command.ts';

interface PromptOptions {
  readonly input: NodeJS.ReadableStream;
  readonly output: NodeJS.WritableStream;
  /**
   * Runs a statement, or a line that begins with a backslash, until the signal ends it, and shows the result or the
   * error. Must not throw.
   */
  readonly run: (statement: string, signal: AbortSignal) => Promise<void>;
  /** Names that Tab completes besides SQL's keywords. Called at the first Tab. */
  readonly names?: () => Promise<readonly string[]>;
}

const EMPTY = 'sql> ';
const OPEN = '  -> ';

/**
 * Reads statements that end with `;` and runs one after another, until `\q` or Ctrl-D. Ctrl-C cancels the running
 * statement, or else discards what was typed, in this line and before.
 */
export async function prompt({ input, output, run, names }: PromptOptions): Promise<void> {
  const lines = createInterface({
    input,
    output,
    prompt: EMPTY,
    terminal: 'isTTY' in output,
    ...(names !== undefined && { completer: completerOf(names) }),
  });
  let typed = '';
  let running: AbortController | undefined;
  const ask = () => {
    lines.setPrompt(hasText(typed) ? OPEN : EMPTY);
    lines.prompt();
  };
  const received = queueOf(lines);
  lines.on('SIGINT', () => {
    received.clear();
    dropLine(lines, output);
    if (running === undefined) {
      typed = '';
      ask();
    } else running.abort();
  });
  ask();
  for (let line = await received.next(); line !== undefined; line = await received.next()) {
    if (/^\s*(\\q|quit|exit)\s*;?\s*$/.test(line)) break;
    const { statements, rest } = splitSql(`${typed}${asksForHelp(line, typed) ? '\\?' : line}\n`);
    typed = rest === '' ? '' : `${rest}\n`;
    running = new AbortController();
    for (const statement of statements) if (!running.signal.aborted) await run(statement, running.signal);
    if (running.signal.aborted) typed = '';
    running = undefined;
    ask();
  }
  lines.close();
  output.write('\n');
}

/** Lines that were typed but not yet read. Readline's own iterator cannot discard lines that were typed ahead. */
function queueOf(lines: Interface) {
  let waiting: string[] = [];
  let isClosed = false;
  let wake: () => void = () => undefined;
  lines.on('line', (line) => {
    waiting.push(line);
    wake();
  });
  lines.on('close', () => {
    isClosed = true;
    wake();
  });
  return {
    clear: () => {
      waiting = [];
    },
    /** Undefined after the last one. */
    next: async (): Promise<string | undefined> => {
      while (waiting.length === 0 && !isClosed) await new Promise<void>((resolve) => (wake = resolve));
      return waiting.shift();
    },
  };
}

/** Deletes the line as a user would: to its end, then to its beginning. */
function dropLine(lines: Interface, output: NodeJS.WritableStream): void {
  lines.write(null, { ctrl: true, name: 'e' });
  lines.write(null, { ctrl: true, name: 'u' });
  output.write('^C\n');
}

const WORDS =
  'select from where group by order limit offset having join left on using with as and or not in is null like between case when then else end count sum avg min max distinct union all exists interval desc asc over partition lateral true false explain analyze';

/** Completes the word before the cursor, after its last dot: `t.utime`, `etl.coverage`. */
function completerOf(names: () => Promise<readonly string[]>): AsyncCompleter {
  let known: Promise<readonly string[]> | undefined;
  return (line, done) => {
    const word = /\w*$/.exec(line)?.[0] ?? '';
    // If the query fails, nothing is completed, and the next Tab queries again.
    known ??= names().catch(() => {
      known = undefined;
      return [];
    });
    void known.then((found) => {
      const fits = (name: string) => word !== '' && name.startsWith(word.toLowerCase());
      const words = WORDS.split(' ').filter(fits);
      // A line begins with a keyword rather than with a name.
      const isFirst = words.length > 0 && line.trimStart() === word;
      done(null, [isFirst ? words : [...new Set([...words, ...found.filter(fits)])].sort(), word]);
    });
  };
}

function asksForHelp(line: string, typed: string): boolean {
  return /^\s*help\s*;?\s*$/.test(line) && !hasText(typed);
}

/**
 * Tokens of Postgres that may contain a semicolon without ending a statement: comments, strings (with backslashes
 * after an E), quoted names, dollar quotes. An unterminated token does not match.
 */
const OPAQUE =
  /--[^\n]*|[eE]'(?:[^'\\]|\\.|'')*'|'(?:[^']|'')*'|"(?:[^"]|"")*"|(\$(?:[A-Za-z_]\w*)?\$)[\s\S]*?\1/y;

/**
 * Splits text at the semicolons that end statements. Statements have no semicolon; empty ones are dropped. As in
 * psql, a backslash at the start of a statement makes the rest of the line a command.
 */
export function splitSql(text: string): { readonly statements: readonly string[]; readonly rest: string } {
  const statements: string[] = [];
  let start = 0;
  let at = 0;
  while (at < text.length) {
    if (text[at] === '\\' && !hasText(text.slice(start, at))) {
      const end = lineEnd(text, at);
      statements.push(text.slice(at, end).trim());
      start = at = end;
      continue;
    }
    if (text[at] === ';') {
      statements.push(text.slice(start, at).trim());
      start = at + 1;
    }
    const opaque = opaqueEnd(text, at);
    if (opaque === undefined) break;
    at = opaque;
  }
  return { statements: statements.filter(hasText), rest: text.slice(start).trim() };
}

/** True if the text contains more than space and comments. */
export function hasText(text: string): boolean {
  return text.replaceAll(/--[^\n]*|\/\*[\s\S]*?\*\//g, '').trim() !== '';
}

function lineEnd(text: string, at: number): number {
  const end = text.indexOf('\n', at);
  return end === -1 ? text.length : end;
}

/** The position after the token at `at`; undefined if the token does not end in this text. */
function opaqueEnd(text: string, at: number): number | undefined {
  if (text.startsWith('/*', at)) return commentEnd(text, at);
  OPAQUE.lastIndex = at;
  if (OPAQUE.test(text)) return OPAQUE.lastIndex;
  const next = text.slice(at, at + 256);
  if (/^(?:[eE]?'|"|\$(?:[A-Za-z_]\w*)?\$)/.test(next)) return undefined;
  // Takes a whole word at once: the dollar in `a$b$` opens no quote, and the e at the end of `name` begins no E
  // string.
  return at + (/^[A-Za-z_][\w$]*/.exec(next)?.[0].length ?? 1);
}

/** Comments nest in Postgres. */
function commentEnd(text: string, at: number): number | undefined {
  let depth = 0;
  for (let index = at; index < text.length; index += 1) {
    if (text.startsWith('/*', index)) {
      depth += 1;
      index += 1;
    } else if (text.startsWith('*/', index)) {
      depth -= 1;
      index += 1;
      if (depth === 0) return index + 1;
    }
  }
  return undefined;
}

/** Runs the statements that are typed at the terminal, one after another. An error is reported, and the prompt continues. */
export async function runPrompt(
  label: string,
  run: (typed: string, signal: AbortSignal) => Promise<void>,
  names?: () => Promise<readonly string[]>,
): Promise<void> {
  console.error(`${label}: statements end with ; and \\? shows help; \\q or Ctrl-D quits`);
  const runOrReport = async (typed: string, signal: AbortSignal) => {
    try {
      await run(typed, signal);
    } catch (error) {
      if (signal.aborted && error instanceof EtlError) console.error('the statement was cancelled');
      else if (!(error instanceof EtlError)) throw error;
      else reportError(error);
    }
  };
  await prompt({ input: process.stdin, output: process.stderr, run: runOrReport, ...(names && { names }) });
}
