import { integer, primaryKey, text } from 'drizzle-orm/pg-core';
import { loadedAt, utime } from '../columns.ts';
import { describe } from '../describe.ts';
import { ton } from '../schemas.ts';

export const shard_states = ton.table(
  'shard_states',
  {
    utime: utime(),
    mc_seqno: integer().notNull(),
    workchain: integer().notNull(),
    shard: text().notNull(),
    seqno: integer().notNull(),
    loaded_at: loadedAt(),
  },
  (t) => [primaryKey({ columns: [t.utime, t.mc_seqno, t.workchain, t.shard] })],
);

describe(shard_states, {
  comment:
    'Which blocks were the tops of all shards as a masterchain block saw them: one row for each shard of each masterchain block, itself among them. The blocks are rows of blocks.',
  from: 'blocks[].* of the response',
  columns: {
    utime:
      'Block time, UTC, of the masterchain block that was asked about. From blocks[].gen_utime of the response’s masterchain block.',
    mc_seqno:
      'Number of the masterchain block that was asked about. The seqno of the request, written by the program.',
    workchain: 'Workchain of the top, -1 for the masterchain block itself.',
    shard: 'Shard of the top, upper-case hex without padding.',
    seqno: 'Number of the top in its shard: a block that an earlier masterchain block may have registered.',
  },
  conflict: { kind: 'keep' },
  partitioned: true,
});
