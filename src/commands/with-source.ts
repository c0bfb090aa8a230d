import { openStore, type Store } from '../app.ts';
import { systemClock } from '../clock.ts';
import type { Config } from '../settings/config.ts';
import { EXIT, type ExitCode } from '../errors.ts';
import type { Logger } from '../logger.ts';
import { outlast } from '../retry.ts';
import { openSource } from '../source.ts';
import type { Stop } from '../stop.ts';
import type { Invocation } from './command.ts';
import { withStop } from './with-stop.ts';
import { closeAfter } from './with-store.ts';

/** What a command that asks the API is given to work with. */
export interface Opened {
  readonly store: Store;
  /** The API's host, of which `demo` is a simulator in this process. */
  readonly baseUrl: string;
  readonly stop: Stop;
}

interface Needs {
  /** Which network `demo` means. */
  readonly demo: 'still' | 'live';
  readonly applicationName?: string;
  readonly deadlineMs?: number | undefined;
  /** True: a database that is away is waited for, however long; stopped meanwhile, the command has done its work. */
  readonly isPatient?: boolean;
}

/** Opens the database and the API's host, lets a command work with them, and closes both however it ends. */
export async function withSource(
  invocation: Invocation,
  { demo, applicationName, deadlineMs, isPatient = false }: Needs,
  work: (opened: Opened) => Promise<ExitCode>,
): Promise<ExitCode> {
  const { config, logger } = invocation;
  const run = async (stop: Stop) => {
    const open = isPatient ? openWhenThere(stop.finishing) : openStore;
    const store = await open(config, logger, applicationName);
    if (store === undefined) return EXIT.done;
    return closeAfter(store, () =>
      withBaseUrl(invocation, store, demo, (baseUrl) => work({ store, baseUrl, stop })),
    );
  };
  return withStop(logger, run, deadlineMs);
}

/** Opens the database as soon as it is there; undefined where the command is stopped meanwhile. */
function openWhenThere(signal: AbortSignal) {
  return (config: Config, logger: Logger, name: string | undefined): Promise<Store | undefined> => {
    const waiting = { clock: systemClock, random: Math.random, attempts: Infinity, logger, signal };
    return outlast(waiting, 'the database', () => openStore({ ...config, attempts: 1 }, logger, name));
  };
}

/** Opens the API's host for a command that has its database, and finds out only late that it must ask. */
export async function withHost<T>(
  invocation: Invocation,
  store: Store,
  work: (opened: Opened) => Promise<T>,
): Promise<T> {
  return withStop(invocation.logger, (stop) =>
    withBaseUrl(invocation, store, 'still', (baseUrl) => work({ store, baseUrl, stop })),
  );
}

async function withBaseUrl<T>(
  { config }: Invocation,
  store: Store,
  demo: Needs['demo'],
  work: (baseUrl: string) => Promise<T>,
): Promise<T> {
  const source = await openSource(config, store, demo);
  try {
    return await work(source.baseUrl);
  } finally {
    await source.close();
  }
}
