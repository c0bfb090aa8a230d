import type { DnsRecord, MultisigOrder, MultisigWallet, VestingContract } from '../schemas/multisig.ts';
import type { dns_records } from '../../db/schema/dns-records.ts';
import type { multisig_order_actions, multisig_orders, multisig_wallets } from '../../db/schema/multisig.ts';
import type { vesting_contracts } from '../../db/schema/vesting-contracts.ts';
import { extraOutside, type Extra } from '../../dataset/record.ts';
import { orNull } from './leftovers.ts';

/** The row of a multisig wallet. Its orders, which come without what they do, are a dataset of their own. */
export function multisigWalletRow(
  record: MultisigWallet,
  extra: Extra,
): typeof multisig_wallets.$inferInsert {
  const { address, next_order_seqno, threshold, signers, proposers, ...rest } = record;
  const { last_transaction_lt, code_hash, data_hash } = rest;
  return {
    address,
    next_order_seqno,
    threshold,
    signers,
    proposers,
    last_transaction_lt,
    code_hash,
    data_hash,
    extra: extraOutside(extra, ['orders']),
  };
}

/** The row of an order, and one for each thing that it does. */
export function multisigOrderRows(
  { actions, ...order }: MultisigOrder,
  extra: Extra,
): {
  readonly multisig_orders: readonly (typeof multisig_orders.$inferInsert)[];
  readonly multisig_order_actions: readonly (typeof multisig_order_actions.$inferInsert)[];
} {
  return {
    multisig_orders: [{ ...order, action_count: actions?.length ?? null, extra: orNull(extra) }],
    multisig_order_actions: (actions ?? []).map((action, position) => ({
      ...action,
      order_address: order.address,
      position,
    })),
  };
}

export function vestingRow(record: VestingContract, extra: Extra): typeof vesting_contracts.$inferInsert {
  return { ...record, extra: orNull(extra) };
}

export function dnsRow(record: DnsRecord, extra: Extra): typeof dns_records.$inferInsert {
  return { ...record, extra: orNull(extra) };
}
