import { address, amount, count8, restColumns, texts, tonTable } from '../describe.ts';

export const vesting_contracts = tonTable('vesting_contracts', {
  comment: 'Contracts that pay a sum out over time: one row each, as it was when it was looked up last.',
  from: 'vesting_contracts[].*',
  columns: {
    address: address('Account of the vesting contract, raw form: the key.').primaryKey(),
    start_time: count8(
      'When the time begins to run, unix seconds of up to 64 bits: to_timestamp(start_time) is the time; null if the server does not tell.',
    ),
    total_duration: count8('Seconds after which everything is free; null if the server does not tell.'),
    unlock_period: count8(
      'Seconds between two steps in which it becomes free; null if the server does not tell.',
    ),
    cliff_duration: count8(
      'Seconds at the beginning in which nothing is free; null if the server does not tell.',
    ),
    sender_address: address('Account that gave the sum, raw form; null if the server does not tell.'),
    owner_address: address('Account that gets the sum, raw form; null if the server does not tell.'),
    total_amount: amount('The whole sum in nanotons; null if the server does not tell.'),
    whitelist: texts(
      'Accounts to which the locked part may be sent too, raw form; null if the server does not tell.',
    ),
    ...restColumns(),
  },
  conflict: { kind: 'replace' },
});
