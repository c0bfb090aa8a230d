import * as z from 'zod';
import { elsewhere } from '../dataset/declaration/record.ts';
import {
  account,
  addresses,
  optionalAddress,
  optionalHash,
  digits,
  flag,
  freeForm,
  int,
  requiredInt64,
  text,
  wideDigits,
} from './members.ts';

export const orderAction = z.strictObject({
  destination: optionalAddress,
  value: digits,
  body_raw: text,
  parsed: flag,
  error: text,
  parsed_body: freeForm,
  parsed_body_type: text,
  send_mode: int,
});

/** One element of `orders` of GET /api/v3/multisig/orders, and of a wallet's `orders`. */
export const multisigOrder = z.strictObject({
  address: account,
  multisig_address: account,
  order_seqno: wideDigits,
  threshold: int,
  sent_for_execution: flag,
  approvals_mask: wideDigits,
  approvals_num: int,
  // Up to 64 bits: some orders never expire.
  expiration_date: digits,
  order_boc: text,
  signers: addresses,
  last_transaction_lt: requiredInt64,
  code_hash: optionalHash,
  data_hash: optionalHash,
  actions: elsewhere(z.array(orderAction).nullish()),
});

export type MultisigOrder = z.output<typeof multisigOrder>;
