import { EtlError } from '../../errors.ts';

/** Prints an error and what to do about it. One that nobody foresaw keeps its stack: it is a bug, and its report needs the stack. */
export function reportError(error: unknown): void {
  if (!(error instanceof EtlError)) {
    console.error(error);
    return;
  }
  console.error(`error: ${error.message}`);
  if (error.hint !== undefined) console.error(`hint: ${error.hint}`);
}
