import { defineCollection, lookup } from '../src/dataset/collection.ts';
import { rowLayoutOf, type Extra, type Put } from '../src/dataset/declaration/record.ts';
import { multisig_order_actions, multisig_orders } from '../src/tables/ton/multisig.ts';
import { multisigOrder, orderAction, type MultisigOrder } from '../src/records/multisig-order.ts';

const orderLayout = rowLayoutOf(multisig_orders, multisigOrder);
const actionLayout = rowLayoutOf(multisig_order_actions, orderAction);

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
  tables: { multisig_orders, multisig_order_actions },
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

function orderRows(order: MultisigOrder, extra: Extra, put: Put): void {
  const { address, actions } = order;
  put(orderLayout, order, { action_count: actions?.length ?? null }, extra);
  for (const [position, action] of (actions ?? []).entries())
    put(actionLayout, action, { order_address: address, position });
}
