import { jsonb, text } from 'drizzle-orm/pg-core';
import { address, amount, count8, loadedAt } from '../columns.ts';
import { describe, membersWithoutColumn } from '../describe.ts';
import { ton } from '../schemas.ts';

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
  extra: jsonb(),
  loaded_at: loadedAt(),
});

describe(vesting_contracts, {
  comment: 'Contracts that pay a sum out over time: one row each, as it was when it was looked up last.',
  columns: {
    address: 'Account of the vesting contract, raw form: the key. From vesting_contracts[].address.',
    start_time:
      'When the time begins to run, unix seconds of up to 64 bits: to_timestamp(start_time) is the time; null if the server does not tell. From vesting_contracts[].start_time.',
    total_duration:
      'Seconds after which everything is free; null if the server does not tell. From vesting_contracts[].total_duration.',
    unlock_period:
      'Seconds between two steps in which it becomes free; null if the server does not tell. From vesting_contracts[].unlock_period.',
    cliff_duration:
      'Seconds at the beginning in which nothing is free; null if the server does not tell. From vesting_contracts[].cliff_duration.',
    sender_address:
      'Account that gave the sum, raw form; null if the server does not tell. From vesting_contracts[].sender_address.',
    owner_address:
      'Account that gets the sum, raw form; null if the server does not tell. From vesting_contracts[].owner_address.',
    total_amount:
      'The whole sum in nanotons; null if the server does not tell. From vesting_contracts[].total_amount.',
    whitelist:
      'Accounts to which the locked part may be sent too, raw form; null if the server does not tell. From vesting_contracts[].whitelist.',
    extra: membersWithoutColumn('vesting_contracts[]'),
  },
  conflict: { kind: 'replace' },
});
