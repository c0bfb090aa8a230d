import { Column } from './column.ts';

/** No such row. */
export const NONE = -1;

/** Bits of `flags`. */
export const BLOCK = {
  afterMerge: 1,
  beforeSplit: 2,
  afterSplit: 4,
  wantMerge: 8,
  wantSplit: 16,
  key: 32,
} as const;

export interface BlockRow {
  readonly shard: number;
  readonly seqno: number;
  readonly utime: number;
  readonly startLt: number;
  readonly flags: number;
  readonly round: number;
  /** Rows of the parents; {@link NONE} for those that were never indexed. */
  readonly parents: readonly [number, number];
}

/**
 * All blocks in the order in which they were made. `shard` is a code: 0 for the masterchain, else the shard's
 * prefix of the basechain with a leading one bit. So 1 is the whole, 2 and 3 are the halves, 4 to 7 the quarters.
 */
export class BlockTable {
  readonly shard = Column.uint8();
  readonly seqno = Column.uint32();
  readonly utime = Column.uint32();
  readonly startLt = Column.float64();
  readonly endLt = Column.float64();
  readonly flags = Column.uint8();
  readonly transactions = Column.uint32();
  readonly round = Column.uint32();
  readonly left = Column.int32();
  readonly right = Column.int32();
  /** The tick whose masterchain block registered this one; {@link NONE} while none has. */
  readonly tick = Column.int32();
  /** Rows in the order (utime, basechain before masterchain, shard as a signed number, seqno). */
  readonly byTime = Column.uint32();

  get count(): number {
    return this.seqno.length;
  }

  push(row: BlockRow): number {
    this.shard.push(row.shard);
    this.seqno.push(row.seqno);
    this.utime.push(row.utime);
    this.startLt.push(row.startLt);
    this.endLt.push(row.startLt + 1);
    this.flags.push(row.flags);
    this.transactions.push(0);
    this.round.push(row.round);
    this.left.push(row.parents[0]);
    this.right.push(row.parents[1]);
    this.tick.push(NONE);
    this.sortIn(this.count - 1);
    return this.count - 1;
  }

  addFlag(block: number, flag: number): void {
    this.flags.set(block, this.flags.get(block) | flag);
  }

  /** Blocks arrive nearly sorted, so the last few are moved up at most. */
  private sortIn(block: number): void {
    this.byTime.push(block);
    let at = this.count - 1;
    while (at > 0 && this.compare(this.byTime.get(at - 1), block) > 0) {
      this.byTime.set(at, this.byTime.get(at - 1));
      at--;
    }
    this.byTime.set(at, block);
  }

  private compare(a: number, b: number): number {
    const later = this.utime.get(a) - this.utime.get(b);
    if (later !== 0) return later;
    const [shardA, shardB] = [this.shard.get(a), this.shard.get(b)];
    if (shardA !== shardB) return shardRank(shardA) - shardRank(shardB);
    return this.seqno.get(a) - this.seqno.get(b);
  }
}

/** The shard's identifier as 16 hex digits without padding, as v3 prints it. */
export function shardText(code: number): string {
  return BigInt.asUintN(64, shardNumber(code)).toString(16).toUpperCase();
}

/** The shard's identifier as a signed 64-bit number, as v2 prints it and the database sorts it. */
export function shardNumber(code: number): bigint {
  const whole = code === 0 ? 1 : code;
  const depth = shardDepth(whole);
  const prefix = BigInt(whole - 2 ** depth);
  const bits = (prefix << BigInt(64 - depth)) | (1n << BigInt(63 - depth));
  return BigInt.asIntN(64, bits);
}

export function shardDepth(code: number): number {
  return 31 - Math.clz32(Math.max(1, code));
}

/** Orders shards by (-workchain, signed shard). */
function shardRank(code: number): number {
  return RANKS[code] ?? 0;
}

const RANKS: readonly number[] = (() => {
  const codes = Array.from({ length: 31 }, (_, index) => index + 1);
  const sorted = codes.toSorted((a, b) => (shardNumber(a) < shardNumber(b) ? -1 : 1));
  return [1000, ...codes.map((code) => sorted.indexOf(code))];
})();

/** Codes to texts, made once. */
export const SHARD_TEXTS: readonly string[] = Array.from({ length: 32 }, (_, code) => shardText(code));
