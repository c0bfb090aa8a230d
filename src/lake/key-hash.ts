/**
 * Postgres' `hashtextextended(text, 0)`, by which receipts sum up keys, so that a lake proves itself without a server.
 * From `hash_bytes_extended` of Postgres' src/common/hashfn.c, which is Bob Jenkins' lookup3.
 */
export class KeySum {
  private sum = 0n;
  private readonly bytes = new Uint8Array(4096);
  private readonly words = new DataView(this.bytes.buffer);
  private readonly encoder = new TextEncoder();

  get total(): string {
    return String(this.sum);
  }

  /** Adds the hashes of texts; few enough of them that their sum stays within 53 bits. */
  add(texts: readonly string[]): void {
    let [high, low] = [0, 0];
    for (const text of texts) {
      const [b, c] = this.hash(text);
      high += b;
      low += c;
    }
    this.sum += BigInt(high) * 2n ** 32n + BigInt(low);
  }

  /** The upper half, signed, and the lower one, unsigned. */
  private hash(text: string): readonly [number, number] {
    const { read, written } = this.encoder.encodeInto(text, this.bytes);
    if (read < text.length) throw new RangeError('a key of more than 4 kB');
    // What is behind the key counts as nothing.
    this.bytes.fill(0, written, written + 12);
    const start = (0x9e3779b9 + written + 3923095) | 0;
    let [a, b, c] = [start, start, start];
    let at = 0;
    for (; written - at >= 12; at += 12) {
      a = (a + this.words.getInt32(at, true)) | 0;
      b = (b + this.words.getInt32(at + 4, true)) | 0;
      c = (c + this.words.getInt32(at + 8, true)) | 0;
      a = ((a - c) | 0) ^ rotate(c, 4);
      c = (c + b) | 0;
      b = ((b - a) | 0) ^ rotate(a, 6);
      a = (a + c) | 0;
      c = ((c - b) | 0) ^ rotate(b, 8);
      b = (b + a) | 0;
      a = ((a - c) | 0) ^ rotate(c, 16);
      c = (c + b) | 0;
      b = ((b - a) | 0) ^ rotate(a, 19);
      a = (a + c) | 0;
      c = ((c - b) | 0) ^ rotate(b, 4);
      b = (b + a) | 0;
    }
    a = (a + this.words.getInt32(at, true)) | 0;
    b = (b + this.words.getInt32(at + 4, true)) | 0;
    // The lowest byte of c is for the length.
    c = (c + (this.words.getInt32(at + 8, true) << 8)) | 0;
    c = ((c ^ b) - rotate(b, 14)) | 0;
    a = ((a ^ c) - rotate(c, 11)) | 0;
    b = ((b ^ a) - rotate(a, 25)) | 0;
    c = ((c ^ b) - rotate(b, 16)) | 0;
    a = ((a ^ c) - rotate(c, 4)) | 0;
    b = ((b ^ a) - rotate(a, 14)) | 0;
    c = ((c ^ b) - rotate(b, 24)) | 0;
    return [b, c >>> 0];
  }
}

function rotate(value: number, by: number): number {
  return (value << by) | (value >>> (32 - by));
}
