import { Random } from '../../random.ts';

const POOL_SIZE = 1 << 16;
const CELL_BYTES = 120;
const MAGIC = 0xb5ee9c72;

/** The bag of one empty cell. */
export const EMPTY_BOC = 'te6ccgEBAQEAAgAAAA==';

/**
 * Bags of cells: valid ones (a chain of cells, no index, no checksum) whose data are random bytes of a seeded pool.
 * The format is that of the TON whitepaper's `serialized_boc`.
 */
export class BocMaker {
  private readonly pool: Buffer;
  private readonly scratch = Buffer.alloc(8192);

  constructor(seed: number) {
    const random = new Random(seed, 0xb0c);
    this.pool = Buffer.alloc(POOL_SIZE);
    for (let at = 0; at < POOL_SIZE; at += 4) this.pool.writeUInt32BE(random.next(), at);
  }

  /**
   * A bag in base64 that holds `size` bytes of data, different for each `key`. The root begins with `opcode`, if given.
   */
  make(key: number, size: number, opcode?: number): string {
    const cells = Math.max(1, Math.ceil(size / CELL_BYTES));
    const length = size + cells * 2 + cells - 1;
    const { scratch } = this;
    scratch.writeUInt32BE(MAGIC, 0);
    scratch.set([1, 2, cells, 1, 0], 4);
    scratch.writeUInt16BE(length, 9);
    scratch[11] = 0;
    let at = 12;
    for (let cell = 0; cell < cells; cell++) {
      const bytes = Math.min(CELL_BYTES, size - cell * CELL_BYTES);
      const refs = cell + 1 < cells ? 1 : 0;
      scratch[at] = refs;
      scratch[at + 1] = bytes * 2;
      const from = (key * 41 + cell * 977) % (POOL_SIZE - CELL_BYTES);
      this.pool.copy(scratch, at + 2, from, from + bytes);
      if (cell === 0) this.head(at + 2, bytes, key, opcode);
      at += 2 + bytes;
      if (refs === 1) scratch[at++] = cell + 1;
    }
    return scratch.toString('base64', 0, at);
  }

  private head(at: number, bytes: number, key: number, opcode: number | undefined): void {
    if (opcode !== undefined && bytes >= 4) this.scratch.writeUInt32BE(opcode, at);
    if (bytes >= 8) this.scratch.writeUInt32BE(key >>> 0, at + 4);
  }
}
