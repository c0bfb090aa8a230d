import { createInterface } from 'node:readline';
import { saysSomething, splitSql } from '../../parse/split-sql.ts';

interface PromptOptions {
  readonly input: NodeJS.ReadableStream;
  readonly output: NodeJS.WritableStream;
  /** Runs a statement, or a line that begins with a backslash, and shows what it returned, or what went wrong. Must not throw. */
  readonly run: (statement: string) => Promise<void>;
}

const FRESH = 'sql> ';
const OPEN = '  -> ';

/** Reads statements that end with `;` and runs one after the other, until `\q` or Ctrl-D; Ctrl-C drops what was typed. */
export async function prompt({ input, output, run }: PromptOptions): Promise<void> {
  const lines = createInterface({ input, output, prompt: FRESH, terminal: 'isTTY' in output });
  let typed = '';
  const ask = () => {
    lines.setPrompt(saysSomething(typed) ? OPEN : FRESH);
    lines.prompt();
  };
  lines.on('SIGINT', () => {
    typed = '';
    output.write('\n');
    ask();
  });
  ask();
  for await (const line of lines) {
    if (/^\s*(\\q|quit|exit)\s*;?\s*$/.test(line)) break;
    const { statements, rest } = splitSql(`${typed}${asksForHelp(line, typed) ? '\\?' : line}\n`);
    typed = rest === '' ? '' : `${rest}\n`;
    for (const statement of statements) await run(statement);
    ask();
  }
  lines.close();
  output.write('\n');
}

function asksForHelp(line: string, typed: string): boolean {
  return /^\s*help\s*;?\s*$/.test(line) && !saysSomething(typed);
}
