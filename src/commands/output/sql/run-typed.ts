import { DatabaseError, UsageError } from '../../../errors.ts';
import { COMMANDS_HELP, describeStatement } from './backslash.ts';
import type { ResultShape } from './show-result.ts';

/** Runs a statement and shows what it returns. */
type Show = (statement: string, shape: ResultShape) => Promise<void>;

/**
 * What runs each statement that was typed or piped, and does what a line that begins with a backslash says: one for each
 * conversation, because it remembers \\x.
 */
export function openRunner(show: Show): (typed: string) => Promise<void> {
  let asRecords = false;
  return async (typed) => {
    if (!typed.startsWith('\\')) return show(typed, asRecords ? 'records' : 'table');
    const statement = describeStatement(typed);
    if (statement !== undefined) return show(statement, 'lines').catch(withoutStatement);
    if (typed === '\\x') {
      asRecords = !asRecords;
      console.error(asRecords ? 'each row as a record' : 'rows as a table where they fit');
    } else if (typed === '\\?') console.error(COMMANDS_HELP);
    else throw new UsageError(`there is no command ${typed}`, { hint: `These are known:\n${COMMANDS_HELP}` });
  };
}

/** The place in a statement that nobody has typed tells nothing. */
function withoutStatement(error: unknown): never {
  if (!(error instanceof DatabaseError)) throw error;
  const [message = ''] = error.message.split('\n');
  throw new DatabaseError(message, { cause: error, ...(error.hint !== undefined && { hint: error.hint }) });
}
