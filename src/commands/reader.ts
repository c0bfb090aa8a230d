import { allowReading } from '../db/migrate/reader.ts';
import { EXIT, type ExitCode } from '../errors.ts';
import { withLogin } from '../postgres-url.ts';
import { parseDuration } from '../range.ts';
import type { Invocation } from './command.ts';
import { withStore } from './with-store.ts';

interface ReaderFlags {
  readonly name: string;
  readonly timeout: string;
}

/** `reader`: makes the read-only role and prints its connection string, alone, to stdout. */
export async function reader(invocation: Invocation, flags: ReaderFlags): Promise<ExitCode> {
  const timeout = parseDuration(flags.timeout);
  await withStore(invocation, 'toncenter-etl reader', async (store) => {
    const password = await allowReading(store.database, { name: flags.name, timeout });
    const url = invocation.config.databaseUrl ?? store.embedded?.url ?? '';
    console.log(withLogin(url, flags.name, password));
  });
  console.error(
    `${flags.name} reads and does no more. The password is new: one that was printed before is void.`,
  );
  return EXIT.done;
}
