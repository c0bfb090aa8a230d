import type { Store } from '../app.ts';
import type { ExitCode } from '../errors.ts';
import { openSource } from '../source.ts';
import type { Stop } from '../stop.ts';
import type { Invocation } from './command.ts';
import { withStop } from './with-stop.ts';
import { withStore } from './with-store.ts';

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
}

/** Opens the database and the API's host, lets a command work with them, and closes both however it ends. */
export async function withSource(
  invocation: Invocation,
  { demo, applicationName, deadlineMs }: Needs,
  work: (opened: Opened) => Promise<ExitCode>,
): Promise<ExitCode> {
  const open = (stop: Stop) =>
    withStore(invocation, applicationName, (store) =>
      withBaseUrl(invocation, store, demo, (baseUrl) => work({ store, baseUrl, stop })),
    );
  return withStop(invocation.logger, open, deadlineMs);
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
