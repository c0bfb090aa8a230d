import { z } from 'zod';
import { block } from '../schemas/block.ts';
import type { masterchain_heads } from '../../db/schema/masterchain-heads.ts';
import { formatTime } from '../../range.ts';
import { extraWithin, type Extra } from '../../dataset/record.ts';
import { blockRows, type BlockRows } from './block.ts';

/** An answer of GET /api/v3/masterchainInfo. */
export const indexHead = z.strictObject({ last: block, first: block });

interface HeadRows extends BlockRows {
  readonly masterchain_heads: readonly (typeof masterchain_heads.$inferInsert)[];
}

/** The rows of a sample of the index: its head, and the two blocks that it names. */
export function indexHeadRows(
  { last, first }: z.output<typeof indexHead>,
  extra: Extra,
  at: string,
): HeadRows {
  const newest = blockRows(last, extraWithin(extra, 'last') ?? {});
  const oldest = blockRows(first, extraWithin(extra, 'first') ?? {});
  const head = {
    taken_at: at,
    source: 'index',
    seqno: last.seqno,
    first_seqno: first.seqno,
    root_hash: last.root_hash,
    file_hash: last.file_hash,
    head_utime: formatTime(last.gen_utime),
  };
  return {
    masterchain_heads: [head],
    blocks: [...newest.blocks, ...oldest.blocks],
    block_parents: [...newest.block_parents, ...oldest.block_parents],
  };
}
