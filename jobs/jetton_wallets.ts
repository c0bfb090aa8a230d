import { jettonWallet, type JettonWallet } from '../src/records/schemas/jetton-wallet.ts';
import { defineCollection, list, lookup, type WalkSpec } from '../src/dataset/collection.ts';
import { jetton_wallets } from '../src/db/schema/jetton-wallets.ts';
import { batches } from '../src/dataset/paginators/lookup.ts';
import { offset } from '../src/dataset/paginators/offset.ts';
import { jettonWalletRow } from '../src/records/rows/jetton-wallet.ts';

// Never with `sort`: by balance the list changes under the walk.
const wallets: WalkSpec<JettonWallet> = {
  endpoint: { path: '/api/v3/jetton/wallets' },
  shape: { member: 'jetton_wallets' },
  record: jettonWallet,
  id: ['address'],
  rows: (record, extra) => ({ jetton_wallets: [jettonWalletRow(record, extra)] }),
};

export default defineCollection({
  title: 'Who holds how much of which jetton: every jetton wallet that the list reaches or that moved',
  blind:
    'balances between two readings, and wallets beyond the reach of the list that no indexed transfer or burn names',
  tables: { jetton_wallets },
  walks: [
    list({ ...wallets, paginator: offset() }),
    lookup({
      ...wallets,
      paginator: batches({ param: 'address', limited: true }),
      answers: { key: 'address', lt: 'last_transaction_lt' },
      subjects: {
        watched: false,
        seenIn: [
          { relation: 'ton.jetton_transfers', key: 'source_wallet', lt: 'transaction_lt', time: 'utime' },
          { relation: 'ton.jetton_burns', key: 'jetton_wallet', lt: 'transaction_lt', time: 'utime' },
        ],
      },
    }),
  ],
});
