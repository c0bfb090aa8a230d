import * as z from 'zod';
import { account, addresses, optionalAddress, count, digits } from '../src/records/members.ts';
import { defineCollection, lookup } from '../src/dataset/collection.ts';
import { oneRow } from '../src/dataset/declaration/record.ts';
import { vesting_contracts } from '../src/tables/ton/vesting-contracts.ts';
import { DAY } from '../src/range.ts';

/** One element of `vesting_contracts` of GET /api/v3/vesting. */
export const vestingContract = z.strictObject({
  address: account,
  start_time: count,
  total_duration: count,
  unlock_period: count,
  cliff_duration: count,
  sender_address: optionalAddress,
  owner_address: optionalAddress,
  total_amount: digits,
  whitelist: addresses,
});

const contracts = {
  path: '/api/v3/vesting',
  index: 'vesting_contracts (address)',
  shape: { member: 'vesting_contracts' },
  record: vestingContract,
  id: ['address'],
  rows: oneRow(vesting_contracts, vestingContract),
  refreshSeconds: DAY,
  unknownForSeconds: DAY,
} as const;

export default defineCollection({
  title: 'Contracts that pay a sum out over time: terms, parties, whitelist',
  limitations:
    'vesting contracts that neither the watch list nor an indexed action names: no endpoint lists them',
  tables: { vesting_contracts },
  walks: [
    lookup({
      ...contracts,
      batch: { param: 'contract_address', limited: true },
      answers: { key: 'address' },
      subjects: { watched: true, seenIn: [{ relation: 'etl.seen_vestings', key: 'address', time: 'utime' }] },
    }),
    // The contracts of a watched wallet, as owner or sender.
    lookup({
      ...contracts,
      name: 'of_wallets',
      index: 'vesting_contracts (owner_address, id), (sender_address, id)',
      params: { limit: 1000 },
      batch: { param: 'wallet_address', most: 1 },
      answers: { key: 'owner_address' },
      subjects: { watched: true, seenIn: [] },
    }),
  ],
});
