import { EtlError } from '../../../errors.ts';
import { reportError } from '../report-error.ts';
import { prompt } from './prompt.ts';

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
