import { z } from 'zod';
import { count, digits, flag, int, requiredInt64, text } from './scalar.ts';
import { freeForm } from './free-form.ts';

const addresses = z.array(z.string()).nullish();

const orderAction = z.strictObject({
  destination: text,
  value: digits,
  body_raw: text,
  parsed: flag,
  error: text,
  parsed_body: freeForm,
  parsed_body_type: text,
  send_mode: int,
});

/** Seconds of up to 64 bits: some orders never expire. */
const farSeconds = z.union([z.int(), z.bigint()]).transform(String).nullish();

/** One element of `orders` of GET /api/v3/multisig/orders, and of a wallet's `orders`. */
export const multisigOrder = z.strictObject({
  address: z.string(),
  multisig_address: z.string(),
  order_seqno: digits,
  threshold: int,
  sent_for_execution: flag,
  approvals_mask: digits,
  approvals_num: int,
  expiration_date: farSeconds,
  order_boc: text,
  signers: addresses,
  last_transaction_lt: requiredInt64,
  code_hash: text,
  data_hash: text,
  actions: z.array(orderAction).nullish(),
});

export type MultisigOrder = z.output<typeof multisigOrder>;

/** One element of `multisigs` of GET /api/v3/multisig/wallets. */
export const multisigWallet = z.strictObject({
  address: z.string(),
  next_order_seqno: digits,
  threshold: int,
  signers: addresses,
  proposers: addresses,
  last_transaction_lt: requiredInt64,
  code_hash: text,
  data_hash: text,
  orders: z.array(multisigOrder).nullish(),
});

export type MultisigWallet = z.output<typeof multisigWallet>;

/** One element of `vesting_contracts` of GET /api/v3/vesting. */
export const vestingContract = z.strictObject({
  address: z.string(),
  start_time: count,
  total_duration: count,
  unlock_period: count,
  cliff_duration: count,
  sender_address: text,
  owner_address: text,
  total_amount: digits,
  whitelist: addresses,
});

export type VestingContract = z.output<typeof vestingContract>;

/** One element of `records` of GET /api/v3/dns/records. */
export const dnsRecord = z.strictObject({
  nft_item_address: z.string(),
  nft_item_owner: text,
  domain: z.string(),
  dns_next_resolver: text,
  dns_wallet: text,
  dns_site_adnl: text,
  dns_storage_bag_id: text,
});

export type DnsRecord = z.output<typeof dnsRecord>;
