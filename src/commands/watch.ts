import { formatAddress, isFriendly, parseAddress } from '../ton/address.ts';
import type { Store } from '../app/store.ts';
import { MAINNET, readNetwork } from '../db/connection/network.ts';
import { addWatch, readWatched, removeWatch } from '../db/cursors/watch-list.ts';
import { EXIT, UsageError, type ExitCode } from '../errors.ts';
import type { Invocation } from './command.ts';
import { formatWatched } from './output/watch-list.ts';
import { withStore } from './with-store.ts';

/** `watch add ADDRESS [--note …]`: the account is read by the datasets that answer for one account at a time. */
export function watchAdd(
  invocation: Invocation,
  text: string,
  { note = '' }: { note?: string },
): Promise<ExitCode> {
  return withWatchList(invocation, async (store, testnet) => {
    const address = parseAddress(text, { testnet });
    await addWatch(store.database, address, note);
    const friendly = isFriendly(text) ? text.trim() : formatAddress(address, { testnet });
    console.log(`watching  ${address} (${friendly})`);
  });
}

/** `watch remove ADDRESS`: what was read for it stays. */
export function watchRemove(invocation: Invocation, text: string): Promise<ExitCode> {
  return withWatchList(invocation, async (store, testnet) => {
    const address = parseAddress(text, { testnet });
    if (await removeWatch(store.database, address)) {
      console.log(`removed   ${address}; what was read for it stays`);
      return;
    }
    throw new UsageError(`${address} is not on the watch list`, { hint: '`watch list` shows who is.' });
  });
}

/** `watch list` */
export function watchList(invocation: Invocation, { json = false }: { json?: boolean }): Promise<ExitCode> {
  return withWatchList(invocation, async (store, testnet) => {
    const watched = await readWatched(store.database);
    if (json) {
      console.log(JSON.stringify(watched, null, 2));
      return;
    }
    console.log(formatWatched(watched, testnet));
  });
}

/** The network decides which friendly forms are right: the database's own, or before the first crawl the setting's. */
function withWatchList(
  invocation: Invocation,
  work: (store: Store, testnet: boolean) => Promise<void>,
): Promise<ExitCode> {
  return withStore(invocation, 'toncenter-etl watch', async (store) => {
    const network = await readNetwork(store.database);
    const { config } = invocation;
    await work(store, network === undefined ? config.network !== 'mainnet' : network !== MAINNET);
    return EXIT.done;
  });
}
