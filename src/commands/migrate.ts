import { openStore } from '../app.ts';
import { EXIT, type ExitCode } from '../errors.ts';
import type { Invocation } from './command.ts';

/** `migrate`: what every command does at its start, alone. */
export async function migrate({ config, logger }: Invocation): Promise<ExitCode> {
  const store = await openStore(config, logger, 'toncenter-etl migrate');
  console.log(`migrated  ${store.database.label} has this version's schema`);
  await store.close();
  return EXIT.done;
}
