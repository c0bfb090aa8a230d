import { DatabaseError, UsageError } from '../../../errors.ts';
import { COMMANDS_HELP, describeStatement } from './backslash.ts';
import type { ResultShape } from './show-result.ts';

/** Runs a statement and shows what it returns, until the signal ends it. */
type Show = (statement: string, shape: ResultShape, signal: AbortSignal | undefined) => Promise<void>;

/**
 * What runs each statement that was typed or piped, and does what a line that begins with a backslash says: one for each
 * conversation, because it remembers \\x and \\timing.
 */
export function openRunner(show: Show): (typed: string, signal?: AbortSignal) => Promise<void> {
  let asRecords = false;
  let isTimed = false;
  return async (typed, signal) => {
    if (!typed.startsWith('\\')) {
      const began = performance.now();
      await show(typed, asRecords ? 'records' : 'table', signal);
      if (isTimed) console.error(`Time: ${(performance.now() - began).toFixed(0)} ms`);
      return;
    }
    const statement = describeStatement(typed);
    if (statement !== undefined) return show(statement, 'lines', signal).catch(withoutStatement);
    if (typed === '\\x') {
      asRecords = !asRecords;
      console.error(asRecords ? 'each row as a record' : 'rows as a table where they fit');
    } else if (typed === '\\timing') {
      isTimed = !isTimed;
      console.error(isTimed ? 'the time of each statement is shown' : 'times are not shown');
    } else if (typed === '\\?') console.error(COMMANDS_HELP);
    else throw new UsageError(`unknown command ${typed}`, { hint: `These are known:\n${COMMANDS_HELP}` });
  };
}

/** The place in a statement that nobody has typed tells nothing. */
function withoutStatement(error: unknown): never {
  if (!(error instanceof DatabaseError)) throw error;
  const [message = ''] = error.message.split('\n');
  throw new DatabaseError(message, { cause: error, ...(error.hint !== undefined && { hint: error.hint }) });
}
