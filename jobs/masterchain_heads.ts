import * as z from 'zod';
import { timeOf, hash, blockIdExt, tag } from '../src/records/members.ts';
import { defineCollection, sample, type Asked } from '../src/dataset/collection.ts';
import {
  extraWithin,
  givenLayout,
  NOTHING,
  type Extra,
  type Put,
} from '../src/dataset/declaration/record.ts';
import { block_parents, blocks, masterchain_heads } from '../src/tables/ton/blocks.ts';
import { block, blockRows } from '../src/records/block.ts';

/** The result of getMasterchainInfo: the node's head. */
export const nodeHead = z.strictObject({
  '@type': tag,
  last: blockIdExt,
  state_root_hash: hash,
  init: blockIdExt,
});

/** A response of GET /api/v3/masterchainInfo. */
const indexHead = z.strictObject({ last: block, first: block });

const heads = givenLayout(masterchain_heads);

export default defineCollection({
  title: 'The newest masterchain block as the nodes and as the index have it, sampled',
  limitations: 'heads between two samples; which one of several servers answered',
  tables: { masterchain_heads, blocks, block_parents },
  walks: [
    sample({
      name: 'node',
      method: 'getMasterchainInfo',
      shape: 'one',
      everySeconds: 60,
      record: nodeHead,
      id: ['last.root_hash'],
      rows: nodeHeadRows,
    }),
    sample({
      name: 'index',
      path: '/api/v3/masterchainInfo',
      index: 'blocks (seqno) of the masterchain',
      shape: 'one',
      everySeconds: 60,
      record: indexHead,
      id: ['last.root_hash'],
      rows: indexHeadRows,
    }),
  ],
});

function nodeHeadRows(
  { last, init, state_root_hash }: z.output<typeof nodeHead>,
  extra: Extra,
  put: Put,
  { at }: Asked,
): void {
  const head = {
    taken_at: at,
    source: 'node',
    state_root_hash,
    seqno: last.seqno,
    root_hash: last.root_hash,
    file_hash: last.file_hash,
    init_seqno: init.seqno,
    init_root_hash: init.root_hash,
    init_file_hash: init.file_hash,
  };
  put(heads, null, head, extra);
}

/** Puts the rows of a sample of the index: its head, and the two blocks that it names. */
function indexHeadRows(
  { last, first }: z.output<typeof indexHead>,
  extra: Extra,
  put: Put,
  { at }: Asked,
): void {
  const head = {
    taken_at: at,
    source: 'index',
    seqno: last.seqno,
    first_seqno: first.seqno,
    root_hash: last.root_hash,
    file_hash: last.file_hash,
    head_utime: timeOf(last.gen_utime),
  };
  put(heads, null, head);
  blockRows(last, extraWithin(extra, 'last') ?? NOTHING, put);
  blockRows(first, extraWithin(extra, 'first') ?? NOTHING, put);
}
