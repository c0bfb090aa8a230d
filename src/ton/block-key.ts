/** A block's name as one string: workchain, shard and seqno. */
export function blockKey(block: {
  readonly workchain: number;
  readonly shard: string;
  readonly seqno: number;
}): string {
  return `${block.workchain}:${block.shard}:${block.seqno}`;
}
