import { openStore, type Store } from '../app/store.ts';
import type { Invocation } from './command.ts';
import { closeAfter } from './close-after.ts';

/** Opens the database, lets a command work with it, and closes it however that ends. `name` is what Postgres shows of who is connected. */
export async function withStore<T>(
  { config, logger }: Pick<Invocation, 'config' | 'logger'>,
  name: string | undefined,
  work: (store: Store) => Promise<T>,
): Promise<T> {
  const store = await openStore(config, logger, name);
  const stopListening = endByItself(store);
  return closeAfter(store, () => work(store)).finally(stopListening);
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
