import { EtlError } from '../../../errors.ts';
import { reportError } from '../report-error.ts';
import { prompt } from './prompt.ts';

/** Runs what is typed at the terminal, one statement after the other; one that fails is reported, and the next is asked for. */
export async function converse(label: string, show: (statement: string) => Promise<void>): Promise<void> {
  console.error(`${label}: statements end with ; and \\q or Ctrl-D ends`);
  await prompt({
    input: process.stdin,
    output: process.stderr,
    run: async (statement) => {
      try {
        await show(statement);
      } catch (error) {
        if (!(error instanceof EtlError)) throw error;
        reportError(error);
      }
    },
  });
}
