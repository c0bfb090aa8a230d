import { vestingContract } from '../src/records/schemas/multisig.ts';
import { defineCollection, lookup } from '../src/dataset/collection.ts';
import { vesting_contracts } from '../src/db/schema/vesting-contracts.ts';
import { batches } from '../src/dataset/paginators/lookup.ts';
import { vestingRow } from '../src/records/rows/multisig.ts';
import { DAY } from '../src/range.ts';

const contracts = {
  endpoint: { path: '/api/v3/vesting' },
  shape: { member: 'vesting_contracts' },
  record: vestingContract,
  id: ['address'],
} as const;

export default defineCollection({
  title: 'Contracts that pay a sum out over time: terms, parties, whitelist',
  blind: 'vesting contracts that neither the watch list nor an indexed action names: no endpoint lists them',
  tables: { vesting_contracts },
  walks: [
    lookup({
      ...contracts,
      paginator: batches({ param: 'contract_address', limited: true }),
      rows: (record, extra) => ({ vesting_contracts: [vestingRow(record, extra)] }),
      answers: { key: 'address' },
      refresh: DAY,
      unknownFor: DAY,
      subjects: { watched: true, seenIn: [{ relation: 'etl.seen_vestings', key: 'address', time: 'utime' }] },
    }),
    // Those of a watched wallet, as owner or sender.
    lookup({
      ...contracts,
      name: 'of_wallets',
      params: { limit: 1000 },
      paginator: batches({ param: 'wallet_address', most: 1 }),
      rows: (record, extra) => ({ vesting_contracts: [vestingRow(record, extra)] }),
      answers: { key: 'owner_address' },
      refresh: DAY,
      unknownFor: DAY,
      subjects: { watched: true, seenIn: [] },
    }),
  ],
});
