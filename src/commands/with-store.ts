import { openStore, type Store } from '../app/store.ts';
import { systemClock } from '../clock.ts';
import { outlastDatabase } from '../retry.ts';
import type { Invocation } from './command.ts';
import { closeAfter } from './close-after.ts';

interface Surroundings extends Pick<Invocation, 'config' | 'logger'> {
  /** True: the command brings the schema up to date. Default: the database must have it. */
  readonly migrates?: boolean;
  /** Ends the waits for a database that is away. */
  readonly signal?: AbortSignal;
}

/**
 * Opens the database, lets a command work with it, and closes it however that ends. Where the database goes away in the
 * middle, it is waited for and the work begins anew: it is to end in the same state however often it is done. `name` is
 * the one that Postgres shows for the connection.
 */
export function withStore<T>(
  around: Surroundings,
  name: string | undefined,
  work: (store: Store) => Promise<T>,
): Promise<T> {
  return withStoreOnce(around, name, (store) => doAgain(around, () => work(store)));
}

/** As `withStore`, for what must not be done twice: a user's statement, or lines that somebody has read already. */
export async function withStoreOnce<T>(
  { config, logger, migrates = false }: Surroundings,
  name: string | undefined,
  work: (store: Store) => Promise<T>,
): Promise<T> {
  const store = await openStore(config, logger, name, { migrates });
  const stopListening = endByItself(store);
  return closeAfter(store, () => work(store)).finally(stopListening);
}

/** Does a command's work, and does it anew where the database went away in its middle, within `ETL_ATTEMPTS`. */
export function doAgain<T>(
  { config, logger, signal = new AbortController().signal }: Surroundings,
  work: () => Promise<T>,
): Promise<T> {
  const { attempts } = config;
  return outlastDatabase({ clock: systemClock, random: Math.random, attempts, logger, signal }, work);
}

/** A command without a page in hand ends at once at a signal, but it leaves no embedded server behind. */
function endByItself(store: Store): () => void {
  const signals: readonly NodeJS.Signals[] =
    store.embedded === undefined ? [] : ['SIGINT', 'SIGTERM', 'SIGHUP'];
  const stopListening = () => {
    for (const signal of signals) process.off(signal, onSignal);
  };
  const onSignal = (signal: NodeJS.Signals) => {
    // Others listen too where there is something to be finished, or where the signal means nothing.
    if (process.listenerCount(signal) > 1) return;
    const end = () => {
      stopListening();
      process.kill(process.pid, signal);
    };
    store.abandon().then(end, end);
  };
  for (const signal of signals) process.on(signal, onSignal);
  return stopListening;
}
