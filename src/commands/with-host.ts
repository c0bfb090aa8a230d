import type { Store } from '../app/store.ts';
import { openSource } from '../app/source.ts';
import type { Stop } from '../stop.ts';
import type { Invocation } from './command.ts';
import { withStop } from './with-stop.ts';
import { closeAfter } from './close-after.ts';

/** What a command that asks the API is given to work with. */
export interface OpenedHost {
  readonly store: Store;
  /** The API's host, of which `demo` is a simulator in this process. */
  readonly baseUrl: string;
  readonly stop: Stop;
}

/** Opens the API's host for a command that has its database, and finds out only late that it must ask. */
export async function withHost<T>(
  invocation: Invocation,
  store: Store,
  work: (opened: OpenedHost) => Promise<T>,
): Promise<T> {
  return withStop(invocation.logger, (stop) => askHost(invocation, { store, stop, demo: 'still' }, work));
}

/** Opens the API's host, works, and closes it however that ends. `demo` says which network that means. */
export async function askHost<T>(
  { config }: Invocation,
  { store, stop, demo }: Omit<OpenedHost, 'baseUrl'> & { readonly demo: 'still' | 'live' },
  work: (opened: OpenedHost) => Promise<T>,
): Promise<T> {
  return closeAfter(await openSource(config, store, demo), ({ baseUrl }) => work({ store, stop, baseUrl }));
}
