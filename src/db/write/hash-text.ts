import type { Strings } from '../../dataset/strings.ts';

/** Room for the text of a key. */
let bytes = Buffer.alloc(1024);
let words = new DataView(bytes.buffer, bytes.byteOffset);
const GOLDEN = 0x9e3779b9;
const OWN_START = 3_923_095;
/** Bytes that are mixed at once. */
const BLOCK = 12;

/**
 * Sums of what Postgres' `hashtextextended(text, 0)` gives: lookup3 by Bob Jenkins (2006), as in `hash_bytes_extended` of
 * src/common/hashfn.c. Servers on big-endian machines hash otherwise.
 */
export class HashSum {
  /** Two numbers, for a double holds 2^21 halves of 32 bits: a bigint for each text would take longer than its hash. */
  private high = 0;
  private low = 0;
  private a = 0;
  private b = 0;
  private c = 0;

  /** `strings` says how the text stands in memory. */
  add(text: string, strings: Strings): void {
    this.hash(put(text, strings));
    this.high += this.b | 0;
    this.low += this.c >>> 0;
  }

  /** The sum so far; the next one begins at 0. */
  take(): bigint {
    const sum = BigInt(this.high) * 2n ** 32n + BigInt(this.low);
    this.high = 0;
    this.low = 0;
    return sum;
  }

  private hash(length: number): void {
    this.a = this.b = this.c = (GOLDEN + length + OWN_START) | 0;
    let at = 0;
    for (; length - at >= BLOCK; at += BLOCK) {
      this.load(at, 0);
      this.mix();
    }
    // The lowest byte of the last word is the length's. What lies behind the text is 0.
    this.load(at, 8);
    this.finish();
  }

  private load(at: number, shift: number): void {
    this.a = (this.a + words.getInt32(at, true)) | 0;
    this.b = (this.b + words.getInt32(at + 4, true)) | 0;
    this.c = (this.c + (words.getInt32(at + 8, true) << shift)) | 0;
  }

  private mix(): void {
    let { a, b, c } = this;
    a = ((a - c) | 0) ^ rotated(c, 4);
    c = (c + b) | 0;
    b = ((b - a) | 0) ^ rotated(a, 6);
    a = (a + c) | 0;
    c = ((c - b) | 0) ^ rotated(b, 8);
    b = (b + a) | 0;
    a = ((a - c) | 0) ^ rotated(c, 16);
    c = (c + b) | 0;
    b = ((b - a) | 0) ^ rotated(a, 19);
    a = (a + c) | 0;
    c = ((c - b) | 0) ^ rotated(b, 4);
    b = (b + a) | 0;
    this.a = a;
    this.b = b;
    this.c = c;
  }

  private finish(): void {
    let { a, b, c } = this;
    c = ((c ^ b) - rotated(b, 14)) | 0;
    a = ((a ^ c) - rotated(c, 11)) | 0;
    b = ((b ^ a) - rotated(a, 25)) | 0;
    c = ((c ^ b) - rotated(b, 16)) | 0;
    a = ((a ^ c) - rotated(c, 4)) | 0;
    b = ((b ^ a) - rotated(a, 14)) | 0;
    c = ((c ^ b) - rotated(b, 24)) | 0;
    this.a = a;
    this.b = b;
    this.c = c;
  }
}

function rotated(word: number, by: number): number {
  return (word << by) | (word >>> (32 - by));
}

/** Puts a text where it is hashed, with zeros behind it; how many bytes it has. */
function put(text: string, strings: Strings): number {
  if (text.length * 3 + BLOCK > bytes.length) {
    bytes = Buffer.alloc(text.length * 6 + BLOCK);
    words = new DataView(bytes.buffer, bytes.byteOffset);
  }
  const length = bytes.write(text, 0, strings === 'bytes' ? 'latin1' : 'utf8');
  bytes.fill(0, length, length + BLOCK);
  return length;
}
