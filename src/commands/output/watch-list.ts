import type { Watched } from '../../db/cursors/watch-list.ts';
import { formatTime } from '../../range.ts';
import { formatAddress } from '../../ton/address.ts';
import { formatTable } from './table.ts';

/** The accounts of the watch list as a table. */
export function formatWatched(watched: readonly Watched[], testnet: boolean): string {
  if (watched.length === 0) return 'no account is watched';
  const rows = watched.map(({ address, note, addedAt }) => [
    address,
    formatAddress(address, { testnet }),
    formatTime(addedAt),
    note,
  ]);
  return formatTable(['address', 'friendly', 'since (UTC)', 'note'], rows);
}
