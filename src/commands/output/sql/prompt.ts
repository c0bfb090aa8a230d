import { createInterface, type AsyncCompleter, type Interface } from 'node:readline';
import { saysSomething, splitSql } from '../../parse/split-sql.ts';

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
