import * as z from 'zod';
import { defineCollection, lookup } from '../src/dataset/collection.ts';
import { elsewhere, rowLayoutOf, spread, type Extra, type Put } from '../src/dataset/declaration/record.ts';
import { extended_account_states } from '../src/tables/ton/account-states.ts';
import {
  accountAddress,
  blockIdExt,
  currency,
  tag,
  transactionId,
  count,
  digits,
  requiredSeconds,
} from '../src/records/members.ts';
import { MASTERCHAIN } from '../src/ton/shard.ts';

/**
 * The result of getExtendedAddressInformation. The members of the account's own state depend on its kind; all are kept.
 */
export const fullAccountState = z.strictObject({
  '@type': tag,
  address: spread('', accountAddress),
  balance: digits,
  extra_currencies: elsewhere(z.array(currency).nullish()),
  last_transaction_id: spread('last_transaction_', transactionId),
  block_id: elsewhere(blockIdExt),
  sync_utime: requiredSeconds,
  account_state: z.looseObject({ '@type': z.string() }),
  revision: count,
});

const rowLayout = rowLayoutOf(extended_account_states, fullAccountState);

const states = {
  method: 'getExtendedAddressInformation',
  shape: 'one',
  record: fullAccountState,
  id: ['address.account_address', 'block_id.root_hash'],
  rows: stateRows,
} as const;

export default defineCollection({
  title:
    'Watched accounts as nodes parse them: kind of wallet, seqno, key; with a range, after each of their transactions',
  limitations: 'states between two polls that no indexed transaction shows; blocks that nodes have dropped',
  tables: { extended_account_states },
  walks: [
    lookup({
      ...states,
      batch: { param: 'address', most: 1 },
      answers: { key: 'address.account_address', lt: 'last_transaction_id.lt' },
      subjects: { watched: true, seenIn: [], probed: true },
    }),
    // The state at the masterchain block of each of their indexed transactions.
    lookup({
      ...states,
      name: 'history',
      answers: { key: 'address.account_address' },
      subjects: {
        watched: false,
        ofRange: true,
        seenIn: [{ relation: 'etl.watched_moves', key: 'key', fields: ['address', 'seqno'], time: 'utime' }],
      },
    }),
  ],
});

function stateRows(record: z.output<typeof fullAccountState>, extra: Extra, put: Put): void {
  const { extra_currencies, block_id, account_state: state } = record;
  const given = {
    mc_seqno: block_id.workchain === MASTERCHAIN ? block_id.seqno : null,
    extra_currencies: extra_currencies?.map(({ id, amount }) => ({ id, amount })),
    kind: state['@type'],
    wallet_id: numberOf(state['wallet_id']),
    seqno: numberOf(state['seqno']),
    public_key: typeof state['public_key'] === 'string' ? state['public_key'] : null,
    block_root_hash: block_id.root_hash,
    block_file_hash: block_id.file_hash,
  };
  put(rowLayout, record, given, extra);
}

/** Some servers print 64-bit numbers as text. */
function numberOf(value: unknown): number | null {
  const number = typeof value === 'number' || typeof value === 'string' ? Number(value) : Number.NaN;
  return Number.isSafeInteger(number) && value !== '' ? number : null;
}
