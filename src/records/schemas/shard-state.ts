import { z } from 'zod';
import { block } from './block.ts';

/** An answer of GET /api/v3/masterchainBlockShardState, as a whole. */
export const shardState = z.strictObject({ blocks: z.array(block) });

export type ShardState = z.output<typeof shardState>;
