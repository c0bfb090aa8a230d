import { defineCollection, lookup } from '../src/dataset/collection.ts';
import { type RowsOf, orNull, type Extra } from '../src/dataset/declaration/record.ts';
import { multisig_order_actions, multisig_orders } from '../src/tables/ton/multisig.ts';
import { multisigOrder, type MultisigOrder } from '../src/records/multisig-order.ts';

const tables = { multisig_orders, multisig_order_actions };

const orders = {
  path: '/api/v3/multisig/orders',
  index: 'multisig_orders (multisig_address)',
  params: { parse_actions: true, sort: 'asc' },
  shape: { member: 'orders' },
  record: multisigOrder,
  id: ['address'],
  rows: orderRows,
} as const;

export default defineCollection({
  title: 'Orders of multisig wallets: what they do, who has signed, whether they were carried out',
  limitations:
    'orders of wallets that neither the watch list nor an indexed action names, and beyond the newest 1000 of a wallet',
  tables,
  walks: [
    // The orders of a wallet, one wallet for each request, because their number is unknown.
    lookup({
      ...orders,
      name: 'of_wallets',
      params: { parse_actions: true, sort: 'desc', limit: 1000 },
      batch: { param: 'multisig_address', most: 1 },
      answers: { key: 'multisig_address' },
      refreshSeconds: 3600,
      subjects: {
        watched: false,
        seenIn: [
          { relation: 'ton.multisig_wallets', key: 'address', lt: 'last_transaction_lt', time: 'loaded_at' },
        ],
      },
    }),
    lookup({
      ...orders,
      index: 'multisig_orders (address)',
      batch: { param: 'address', limited: true },
      answers: { key: 'address', lt: 'last_transaction_lt' },
      subjects: {
        watched: true,
        seenIn: [{ relation: 'etl.seen_multisig_orders', key: 'address', lt: 'lt', time: 'utime' }],
      },
    }),
  ],
});

function orderRows({ actions, ...order }: MultisigOrder, extra: Extra): RowsOf<typeof tables> {
  return {
    multisig_orders: [{ ...order, action_count: actions?.length ?? null, extra: orNull(extra) }],
    multisig_order_actions: (actions ?? []).map((action, position) => ({
      ...action,
      order_address: order.address,
      position,
    })),
  };
}
