import { EtlError } from '../../../errors.ts';
import { reportError } from '../report-error.ts';
import { describeStatement, PROMPT_HELP } from './backslash.ts';
import { prompt } from './prompt.ts';
import type { Shape } from './show-result.ts';

/** Shows what a statement returns. */
type Show = (statement: string, shape: Shape) => Promise<void>;

/** Runs what is typed at the terminal, one statement after the other; one that fails is reported, and the next is asked for. */
export async function converse(label: string, show: Show): Promise<void> {
  console.error(`${label}: statements end with ; and \\? tells more; \\q or Ctrl-D ends`);
  let asRecords = false;
  const run = async (statement: string, shape: Shape = asRecords ? 'records' : 'table') => {
    try {
      await show(statement, shape);
    } catch (error) {
      if (!(error instanceof EtlError)) throw error;
      reportError(error);
    }
  };
  const command = async (line: string) => {
    const statement = describeStatement(line);
    if (statement !== undefined) await run(statement, 'lines');
    else if (line === '\\x') {
      asRecords = !asRecords;
      console.error(asRecords ? 'each row as a record' : 'rows as a table where they fit');
    } else console.error(PROMPT_HELP);
  };
  await prompt({ input: process.stdin, output: process.stderr, run: (statement) => run(statement), command });
}
