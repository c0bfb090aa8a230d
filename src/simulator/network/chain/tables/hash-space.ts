import { mix32, salt, unmix32 } from '../../../random.ts';

/** The hash for anything that does not exist. */
export const ZERO_HASH = 'AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=';

/**
 * 32-byte hashes of one kind of thing, made from its index alone and read back into it. The first four bytes are the
 * index under a permutation; the rest follows from them. So no table of hashes is kept, however large the network.
 */
export class HashSpace {
  private readonly key: number;
  private readonly words = new Uint32Array(8);
  private readonly bytes = Buffer.from(this.words.buffer);

  constructor(seed: number, kind: string) {
    this.key = mix32(seed ^ salt(kind));
  }

  /** The hash of `index` as the API prints it: standard base64, 44 characters. */
  text(index: number): string {
    this.write(index);
    return this.bytes.toString('base64');
  }

  /** The same bytes as 64 upper-case hex digits. */
  hex(index: number): string {
    this.write(index);
    return this.bytes.toString('hex').toUpperCase();
  }

  /** A number below 2^32 that is different for each index. */
  prefix(index: number): number {
    return mix32(index ^ this.key);
  }

  /** The index whose hash is `text`, if it is below `count`. */
  indexOf(text: string, count: number): number | undefined {
    const given = Buffer.from(text, 'base64');
    if (given.length !== 32) return undefined;
    const index = (unmix32(given.readUInt32LE(0)) ^ this.key) >>> 0;
    if (index >= count) return undefined;
    this.write(index);
    return this.bytes.equals(given) ? index : undefined;
  }

  private write(index: number): void {
    let word = mix32(index ^ this.key);
    this.words[0] = word;
    for (let at = 1; at < 8; at++) {
      word = mix32(word + this.key + at);
      this.words[at] = word;
    }
  }
}
