import { multisigOrder } from '../src/records/schemas/multisig.ts';
import { defineCollection, lookup } from '../src/dataset/collection.ts';
import { multisig_order_actions, multisig_orders } from '../src/db/schema/multisig.ts';
import { batches } from '../src/dataset/paginators/lookup.ts';
import { multisigOrderRows } from '../src/records/rows/multisig.ts';

const orders = {
  endpoint: { path: '/api/v3/multisig/orders' },
  params: { parse_actions: true, sort: 'asc' },
  shape: { member: 'orders' },
  record: multisigOrder,
  id: ['address'],
} as const;

export default defineCollection({
  title: 'Orders of multisig wallets: what they do, who has signed, whether they were carried out',
  blind:
    'orders of wallets that neither the watch list nor an indexed action names, and beyond the newest 1000 of a wallet',
  tables: { multisig_orders, multisig_order_actions },
  walks: [
    // The orders of a wallet, one wallet a request: nobody can tell how many they are.
    lookup({
      ...orders,
      name: 'of_wallets',
      params: { parse_actions: true, sort: 'desc', limit: 1000 },
      paginator: batches({ param: 'multisig_address', most: 1 }),
      rows: multisigOrderRows,
      answers: { key: 'multisig_address' },
      refresh: 3600,
      subjects: {
        watched: false,
        seenIn: [
          { relation: 'ton.multisig_wallets', key: 'address', lt: 'last_transaction_lt', time: 'loaded_at' },
        ],
      },
    }),
    lookup({
      ...orders,
      paginator: batches({ param: 'address', limited: true }),
      rows: multisigOrderRows,
      answers: { key: 'address', lt: 'last_transaction_lt' },
      subjects: {
        watched: true,
        seenIn: [{ relation: 'etl.seen_multisig_orders', key: 'address', lt: 'lt', time: 'utime' }],
      },
    }),
  ],
});
