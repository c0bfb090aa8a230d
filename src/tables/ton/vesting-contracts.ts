import { text } from 'drizzle-orm/pg-core';
import { address, amount, count8, describe, ton, restColumns } from '../describe.ts';

export const vesting_contracts = ton.table('vesting_contracts', {
  address: address().primaryKey(),
  start_time: count8(),
  total_duration: count8(),
  unlock_period: count8(),
  cliff_duration: count8(),
  sender_address: address(),
  owner_address: address(),
  total_amount: amount(),
  whitelist: text().array(),
  ...restColumns(),
});

describe(vesting_contracts, {
  comment: 'Contracts that pay a sum out over time: one row each, as it was when it was looked up last.',
  from: 'vesting_contracts[].*',
  columns: {
    address: 'Account of the vesting contract, raw form: the key.',
    start_time:
      'When the time begins to run, unix seconds of up to 64 bits: to_timestamp(start_time) is the time; null if the server does not tell.',
    total_duration: 'Seconds after which everything is free; null if the server does not tell.',
    unlock_period: 'Seconds between two steps in which it becomes free; null if the server does not tell.',
    cliff_duration: 'Seconds at the beginning in which nothing is free; null if the server does not tell.',
    sender_address: 'Account that gave the sum, raw form; null if the server does not tell.',
    owner_address: 'Account that gets the sum, raw form; null if the server does not tell.',
    total_amount: 'The whole sum in nanotons; null if the server does not tell.',
    whitelist:
      'Accounts to which the locked part may be sent too, raw form; null if the server does not tell.',
  },
  conflict: { kind: 'replace' },
});
