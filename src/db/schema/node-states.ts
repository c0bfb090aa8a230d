import { bigint, integer, jsonb, primaryKey, text } from 'drizzle-orm/pg-core';
import { address, amount, hash, int8, loadedAt, moment } from './columns.ts';
import { describe } from './describe.ts';
import { ton } from './schemas.ts';

export const extended_account_states = ton.table(
  'extended_account_states',
  {
    address: address().notNull(),
    mc_seqno: integer().notNull(),
    sync_utime: moment().notNull(),
    balance: amount(),
    extra_currencies: jsonb(),
    last_transaction_lt: int8().notNull(),
    last_transaction_hash: hash().notNull(),
    kind: text().notNull(),
    wallet_id: bigint({ mode: 'number' }),
    seqno: integer(),
    public_key: text(),
    account_state: jsonb().notNull(),
    revision: integer(),
    block_root_hash: hash().notNull(),
    block_file_hash: hash().notNull(),
    extra: jsonb(),
    loaded_at: loadedAt(),
  },
  (t) => [primaryKey({ columns: [t.address, t.mc_seqno] })],
);

describe(extended_account_states, {
  comment:
    'Watched accounts as nodes take them apart (v2), one row for each masterchain block at which one was looked at: of wallets the kind, the seqno and the key.',
  columns: {
    address: 'Account that was looked at, raw form. From result.address of getExtendedAddressInformation.',
    mc_seqno:
      'Masterchain block whose state was looked at. From result.block_id.seqno of getExtendedAddressInformation.',
    sync_utime:
      'block time, UTC, of that masterchain block. From result.sync_utime of getExtendedAddressInformation.',
    balance:
      'Nanotons on the account then; null only if not sent. From result.balance of getExtendedAddressInformation.',
    extra_currencies:
      'Extra currencies on the account then, an array of id and amount. From result.extra_currencies of getExtendedAddressInformation.',
    last_transaction_lt:
      'Logical time of its last transaction then; 0 where there was none. From result.last_transaction_id.lt of getExtendedAddressInformation.',
    last_transaction_hash:
      'Hash of its last transaction then, base64. From result.last_transaction_id.hash of getExtendedAddressInformation.',
    kind: 'What the node takes the account for: wallet.v4.accountState, raw.accountState, … From result.account_state of getExtendedAddressInformation.',
    wallet_id:
      'Number of the wallet among those of its key; null where the kind has none. From result.account_state, its wallet_id, of getExtendedAddressInformation.',
    seqno:
      'Number that the wallet expects of its next order; null where the kind has none. From result.account_state, its seqno, of getExtendedAddressInformation.',
    public_key:
      "The wallet's public key; null where the node does not tell it. From result.account_state, its public_key, of getExtendedAddressInformation.",
    account_state:
      'Everything that the node tells of the state by its kind: code, data, limits. From result.account_state of getExtendedAddressInformation.',
    revision:
      "Version of the contract's code as the node counts it; null only if not sent. From result.revision of getExtendedAddressInformation.",
    block_root_hash:
      'Root hash of that masterchain block, base64. From result.block_id.root_hash of getExtendedAddressInformation.',
    block_file_hash:
      'File hash of that masterchain block, base64. From result.block_id.file_hash of getExtendedAddressInformation.',
    extra:
      'Members of the result of getExtendedAddressInformation that this version of the program has no column for; null when there are none.',
    loaded_at: 'When this row of extended_account_states was last written by the program, wall time, UTC.',
  },
  key: ['address', 'mc_seqno'],
  conflict: { kind: 'replace' },
  partitioned: false,
});

export const shard_block_proofs = ton.table(
  'shard_block_proofs',
  {
    workchain: integer().notNull(),
    shard: text().notNull(),
    seqno: integer().notNull(),
    from_seqno: integer().notNull(),
    from_root_hash: hash().notNull(),
    from_file_hash: hash().notNull(),
    mc_seqno: integer().notNull(),
    mc_root_hash: hash().notNull(),
    mc_file_hash: hash().notNull(),
    links: jsonb().notNull(),
    mc_proof: jsonb().notNull(),
    extra: jsonb(),
    loaded_at: loadedAt(),
  },
  (t) => [primaryKey({ columns: [t.workchain, t.shard, t.seqno] })],
);

describe(shard_block_proofs, {
  comment:
    'Merkle proofs that a block belongs to the chain, one row for each block that was asked about: from it to the masterchain block that registered it, and from there to one that is trusted.',
  columns: {
    workchain:
      'Workchain of the block that is proved. The request of getShardBlockProof, written by the program.',
    shard:
      'Shard of the block that is proved, upper-case hex without padding. The request of getShardBlockProof, written by the program.',
    seqno:
      'Number of the block that is proved, in its shard. The request of getShardBlockProof, written by the program.',
    from_seqno:
      'Masterchain block from which the proof begins, the newest one when it was asked for. From result.from.seqno of getShardBlockProof.',
    from_root_hash:
      'Root hash of the masterchain block from which the proof begins, base64. From result.from.root_hash of getShardBlockProof.',
    from_file_hash:
      'File hash of the masterchain block from which the proof begins, base64. From result.from.file_hash of getShardBlockProof.',
    mc_seqno: 'Masterchain block that registered the block. From result.mc_id.seqno of getShardBlockProof.',
    mc_root_hash:
      'Root hash of the masterchain block that registered it, base64. From result.mc_id.root_hash of getShardBlockProof.',
    mc_file_hash:
      'File hash of the masterchain block that registered it, base64. From result.mc_id.file_hash of getShardBlockProof.',
    links:
      'Proofs from the masterchain block down to the block, an array of block id and proof (a bag of cells, base64). From result.links of getShardBlockProof.',
    mc_proof:
      'Proofs between masterchain blocks, an array of two block ids and three bags of cells each. From result.mc_proof of getShardBlockProof.',
    extra:
      'Members of the result of getShardBlockProof that this version of the program has no column for; null when there are none.',
    loaded_at: 'When this row of shard_block_proofs was last written by the program, wall time, UTC.',
  },
  key: ['workchain', 'shard', 'seqno'],
  conflict: { kind: 'replace' },
  partitioned: false,
});

export const masterchain_heads = ton.table(
  'masterchain_heads',
  {
    taken_at: moment().notNull(),
    source: text().notNull(),
    seqno: integer().notNull(),
    root_hash: hash().notNull(),
    file_hash: hash().notNull(),
    head_utime: moment(),
    state_root_hash: hash(),
    init_seqno: integer(),
    init_root_hash: hash(),
    init_file_hash: hash(),
    first_seqno: integer(),
    extra: jsonb(),
    loaded_at: loadedAt(),
  },
  (t) => [primaryKey({ columns: [t.taken_at, t.source] })],
);

describe(masterchain_heads, {
  comment:
    'The newest masterchain block, sampled: as the nodes have it (v2) and as the index has it (v3), a row each. How far the index lags is in masterchain_lag.',
  columns: {
    taken_at: 'When the sample was taken, wall time, UTC, written by the program.',
    source: 'node for getMasterchainInfo of v2, index for masterchainInfo of v3, written by the program.',
    seqno: 'Number of the newest masterchain block. From last.seqno of masterchainInfo.',
    root_hash: 'Root hash of the newest masterchain block, base64. From last.root_hash of masterchainInfo.',
    file_hash: 'File hash of the newest masterchain block, base64. From last.file_hash of masterchainInfo.',
    head_utime:
      'block time, UTC, of the newest masterchain block; null for nodes, which do not tell it. From last.gen_utime of masterchainInfo.',
    state_root_hash:
      'Root hash of the state, base64; null for the index. From result.state_root_hash of getMasterchainInfo.',
    init_seqno:
      "Number of the network's first block, 0; null for the index. From result.init.seqno of getMasterchainInfo.",
    init_root_hash:
      "Root hash of the network's first block, base64; null for the index. From result.init.root_hash of getMasterchainInfo.",
    init_file_hash:
      "File hash of the network's first block, base64; null for the index. From result.init.file_hash of getMasterchainInfo.",
    first_seqno:
      'Oldest masterchain block of the index; null for nodes. From first.seqno of masterchainInfo.',
    extra:
      'Members of either answer that this version of the program has no column for; null when there are none.',
    loaded_at: 'When this row of masterchain_heads was last written by the program, wall time, UTC.',
  },
  key: ['taken_at', 'source'],
  conflict: { kind: 'keep' },
  partitioned: false,
});

export const top_accounts = ton.table(
  'top_accounts',
  {
    taken_at: moment().notNull(),
    rank: integer().notNull(),
    account: address().notNull(),
    balance: amount().notNull(),
    extra: jsonb(),
    loaded_at: loadedAt(),
  },
  (t) => [primaryKey({ columns: [t.taken_at, t.rank] })],
);

describe(top_accounts, {
  comment: 'The accounts with the greatest balances, a snapshot each time that it was asked for.',
  columns: {
    taken_at: 'When the snapshot was taken, wall time, UTC, written by the program.',
    rank: 'Place among the accounts, from 1; accounts of one balance come in any order. Counted, and written by the program.',
    account: 'Account with that balance, raw form. From account of topAccountsByBalance.',
    balance: 'Nanotons on the account at that moment. From balance of topAccountsByBalance.',
    extra:
      'Members of topAccountsByBalance that this version of the program has no column for; null when there are none.',
    loaded_at: 'When this row of top_accounts was last written by the program, wall time, UTC.',
  },
  key: ['taken_at', 'rank'],
  conflict: { kind: 'keep' },
  partitioned: false,
});
