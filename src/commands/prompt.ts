import { type AsyncCompleter, createInterface, type Interface } from 'node:readline';
import { EtlError } from '../errors.ts';
import { reportError } from './run-command.ts';

interface PromptOptions {
  readonly input: NodeJS.ReadableStream;
  readonly output: NodeJS.WritableStream;
  /**
   * Runs a statement, or a line that begins with a backslash, and shows what it returned, or what went wrong, until the
   * signal ends it. Must not throw.
   */
  readonly run: (statement: string, signal: AbortSignal) => Promise<void>;
  /** Names that Tab puts in beside SQL's own words: asked for at the first Tab. */
  readonly names?: () => Promise<readonly string[]>;
}

const FRESH = 'sql> ';
const OPEN = '  -> ';

/**
 * Reads statements that end with `;` and runs one after the other, until `\q` or Ctrl-D. Ctrl-C ends the statement that
 * runs, else it drops what was typed, in this line and before.
 */
export async function prompt({ input, output, run, names }: PromptOptions): Promise<void> {
  const lines = createInterface({
    input,
    output,
    prompt: FRESH,
    terminal: 'isTTY' in output,
    ...(names !== undefined && { completer: completerOf(names) }),
  });
  let typed = '';
  let running: AbortController | undefined;
  const ask = () => {
    lines.setPrompt(saysSomething(typed) ? OPEN : FRESH);
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

/** Lines that were typed and not yet read. Readline's own iterator cannot drop those that were typed ahead. */
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

/** As if it were deleted by hand: to its end, and from there to its beginning. */
function dropLine(lines: Interface, output: NodeJS.WritableStream): void {
  lines.write(null, { ctrl: true, name: 'e' });
  lines.write(null, { ctrl: true, name: 'u' });
  output.write('^C\n');
}

const WORDS =
  'select from where group by order limit offset having join left on using with as and or not in is null like between case when then else end count sum avg min max distinct union all exists interval desc asc over partition lateral true false explain analyze';

/** Completes the word before the cursor, behind the last point of it: `t.utime`, `etl.coverage`. */
function completerOf(names: () => Promise<readonly string[]>): AsyncCompleter {
  let known: Promise<readonly string[]> | undefined;
  return (line, done) => {
    const word = /\w*$/.exec(line)?.[0] ?? '';
    // What cannot be asked now completes nothing, and is asked again.
    known ??= names().catch(() => {
      known = undefined;
      return [];
    });
    void known.then((found) => {
      const all = [...new Set([...WORDS.split(' '), ...found])];
      const fitting = word === '' ? [] : all.filter((name) => name.startsWith(word.toLowerCase())).sort();
      done(null, [fitting, word]);
    });
  };
}

function asksForHelp(line: string, typed: string): boolean {
  return /^\s*help\s*;?\s*$/.test(line) && !saysSomething(typed);
}

/** Text that was typed so far: the statements in it that are complete, and what stands behind the last `;`. */
interface SplitSql {
  readonly statements: readonly string[];
  readonly rest: string;
}

/**
 * Postgres' tokens that may hold a semicolon without ending a statement: comments, strings (with backslashes where an E
 * stands before), quoted names, dollar quotes. Each is matched whole or, unterminated, not at all.
 */
const OPAQUE =
  /--[^\n]*|[eE]'(?:[^'\\]|\\.|'')*'|'(?:[^']|'')*'|"(?:[^"]|"")*"|(\$(?:[A-Za-z_]\w*)?\$)[\s\S]*?\1/y;

/**
 * Splits text at the semicolons that end statements. Statements come without their semicolon; empty ones are dropped. A
 * backslash where a statement could begin makes a command of the rest of its line, as in psql.
 */
export function splitSql(text: string): SplitSql {
  const statements: string[] = [];
  let start = 0;
  let at = 0;
  while (at < text.length) {
    if (text[at] === '\\' && !saysSomething(text.slice(start, at))) {
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
  return { statements: statements.filter(saysSomething), rest: text.slice(start).trim() };
}

/** True where text holds more than space and comments. */
export function saysSomething(text: string): boolean {
  return text.replaceAll(/--[^\n]*|\/\*[\s\S]*?\*\//g, '').trim() !== '';
}

function lineEnd(text: string, at: number): number {
  const end = text.indexOf('\n', at);
  return end === -1 ? text.length : end;
}

/** Where reading goes on after the token at `at`; undefined where it does not end in this text. */
function opaqueEnd(text: string, at: number): number | undefined {
  if (text.startsWith('/*', at)) return commentEnd(text, at);
  OPAQUE.lastIndex = at;
  if (OPAQUE.test(text)) return OPAQUE.lastIndex;
  const next = text.slice(at, at + 256);
  if (/^(?:[eE]?'|"|\$(?:[A-Za-z_]\w*)?\$)/.test(next)) return undefined;
  // A whole word at once: the dollar within `a$b$` opens no quote, and the e that ends `name` makes no E string.
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

/** Runs what is typed at the terminal, one statement after the other; one that fails is reported, and the next is asked for. */
export async function converse(
  label: string,
  run: (typed: string, signal: AbortSignal) => Promise<void>,
  names?: () => Promise<readonly string[]>,
): Promise<void> {
  console.error(`${label}: statements end with ; and \\? tells more; \\q or Ctrl-D ends`);
  const runOrReport = async (typed: string, signal: AbortSignal) => {
    try {
      await run(typed, signal);
    } catch (error) {
      if (signal.aborted && error instanceof EtlError) console.error('the statement was ended');
      else if (!(error instanceof EtlError)) throw error;
      else reportError(error);
    }
  };
  await prompt({ input: process.stdin, output: process.stderr, run: runOrReport, ...(names && { names }) });
}
