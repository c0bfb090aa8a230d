import { EXIT, type ExitCode } from '../errors.ts';
import { createHeldLogger } from '../logger.ts';
import type { Invocation } from './command.ts';
import { parseBackfill, type BackfillFlags } from './parse/backfill-flags.ts';
import { withSource } from './with-source.ts';

/**
 * `backfill --from … --to …`: covers a range of time once, and says what is missing if it cannot. Collections are read
 * behind the streams, which name what is looked up in them.
 */
export async function backfill(invocation: Invocation, flags: BackfillFlags): Promise<ExitCode> {
  if (flags.quiet !== true || invocation.config.logLevel !== 'info') return cover(invocation, flags);
  // Cron mails whatever is printed, so what went well is not worth a word.
  const { logger, release } = createHeldLogger({ level: 'warn', format: invocation.config.logFormat });
  let code: ExitCode | undefined;
  try {
    code = await cover({ ...invocation, logger }, flags);
    return code;
  } finally {
    if (code !== EXIT.done) release();
  }
}

async function cover(invocation: Invocation, flags: BackfillFlags): Promise<ExitCode> {
  const { deadlineMs, ...chosen } = await parseBackfill(invocation, flags);
  // The larger part of the program: it is loaded while the database migrates.
  const load = () => import('./cover-range.ts');
  const meanwhile = () => void load().catch(() => undefined);
  return withSource(invocation, { demo: 'still', migrates: true, deadlineMs, meanwhile }, async (opened) =>
    (await load()).coverRange(invocation, flags, chosen, opened),
  );
}
