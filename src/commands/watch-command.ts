import type { Command } from 'commander';
import type { Store } from '../app/open-store.ts';
import { MAINNET, readNetwork } from '../ledger/stored-settings.ts';
import { addWatch, readWatched, removeWatch, type Watched } from '../ledger/subjects.ts';
import { EXIT, type ExitCode, UsageError } from '../errors.ts';
import { formatTime } from '../range.ts';
import { formatAddress, parseAddress } from '../ton/address.ts';
import { examples } from './option-words.ts';
import { type Invocation, runCommand, withStore } from './run-command.ts';
import { formatTable } from './table.ts';

export function defineWatch(command: Command): void {
  command.addHelpText(
    'after',
    examples('toncenter-etl watch add EQC… --note "our validator’s pool"', 'toncenter-etl watch list'),
  );

  command
    .command('add')
    .description('read this account or pool by name')
    .argument('<address>', 'in any form: raw, base64 or base64url')
    .option('--note <text>', 'a note for readers of the list')
    // A raw address in the masterchain begins with a dash, like an option.
    .allowUnknownOption()
    .action((address: string, flags: { note?: string }) =>
      runCommand((invocation) => watchAdd(invocation, address, flags)),
    );

  command
    .command('remove')
    .description('stop reading it; what was read for it stays')
    .argument('<address>')
    .allowUnknownOption()
    .action((address: string) => runCommand((invocation) => watchRemove(invocation, address)));

  command
    .command('list')
    .description('show the watched accounts and pools with their notes')
    .option('--json', 'for programs')
    .action((flags: { json?: boolean }) => runCommand((invocation) => watchList(invocation, flags)));
}

/** `watch add ADDRESS [--note …]`: adds an account for the datasets that read one account at a time. */
function watchAdd(invocation: Invocation, text: string, { note = '' }: { note?: string }): Promise<ExitCode> {
  return withWatchList(invocation, async (store, testnet) => {
    const address = parseAddress(text, { testnet });
    await addWatch(store.database, address, note);
    console.log(`watching  ${address} (${formatAddress(address, { testnet })})`);
  });
}

/** `watch remove ADDRESS`: what was read for the account stays. */
function watchRemove(invocation: Invocation, text: string): Promise<ExitCode> {
  return withWatchList(invocation, async (store, testnet) => {
    const address = parseAddress(text, { testnet });
    if (await removeWatch(store.database, address)) {
      console.log(`removed   ${address}; what was read for it stays`);
      return;
    }
    throw new UsageError(`${address} is not on the watch list`, { hint: '`watch list` shows who is.' });
  });
}

function watchList(invocation: Invocation, { json = false }: { json?: boolean }): Promise<ExitCode> {
  return withWatchList(invocation, async (store, testnet) => {
    const watched = await readWatched(store.database);
    if (json) {
      console.log(JSON.stringify(watched, null, 2));
      return;
    }
    console.log(formatWatched(watched, testnet));
  });
}

/** The network decides which friendly forms are valid: the database's, or before the first crawl the setting's. */
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

function formatWatched(watched: readonly Watched[], testnet: boolean): string {
  if (watched.length === 0) return 'no account is watched';
  const rows = watched.map(({ address, note, addedAt }) => [
    address,
    formatAddress(address, { testnet }),
    formatTime(addedAt),
    note,
  ]);
  return formatTable(['address', 'friendly', 'since (UTC)', 'note'], rows);
}
