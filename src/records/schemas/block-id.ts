import { z } from 'zod';
import { requiredInt, text } from './scalar.ts';

/** What names a block: workchain, shard (upper-case hex without padding) and sequence number. */
export const blockId = z.strictObject({ workchain: requiredInt, shard: z.string(), seqno: requiredInt });

/** The block of a transaction; older recordings leave its shard null. */
export const blockRef = z.strictObject({ workchain: requiredInt, shard: text, seqno: requiredInt });
