import { integer, jsonb, primaryKey, text } from 'drizzle-orm/pg-core';
import { hash, loadedAt, moment } from '../columns.ts';
import { describe } from '../describe.ts';
import { ton } from '../schemas.ts';

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
  from: 'last.* of masterchainInfo',
  columns: {
    taken_at: 'When the sample was taken, wall time, UTC, written by the program.',
    source:
      'One of node (getMasterchainInfo of v2) and index (masterchainInfo of v3), written by the program.',
    seqno: 'Number of the newest masterchain block.',
    root_hash: 'Root hash of the newest masterchain block, base64.',
    file_hash: 'File hash of the newest masterchain block, base64.',
    head_utime:
      'Block time, UTC, of the newest masterchain block; null for nodes, which do not tell it. From last.gen_utime of masterchainInfo.',
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
      'Members of either response that this version of the program has no column for; null if there are none.',
  },
  conflict: { kind: 'keep' },
});
