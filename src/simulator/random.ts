/** Seeded randomness of the simulator: the same seed gives the same numbers on every machine. */

/** Mixes 32 bits into 32 bits without loss (Chris Wellons, hash-prospector, `lowbias32`). */
export function mix32(value: number): number {
  let h = value | 0;
  h = Math.imul(h ^ (h >>> 16), 0x7feb352d);
  h = Math.imul(h ^ (h >>> 15), 0x846ca68b);
  return (h ^ (h >>> 16)) >>> 0;
}

/** The inverse of {@link mix32}: `unmix32(mix32(x)) === x` for every unsigned 32-bit `x`. */
export function unmix32(value: number): number {
  let h = value | 0;
  h = Math.imul(h ^ (h >>> 16), 0x43021123);
  h = Math.imul(h ^ (h >>> 15) ^ (h >>> 30), 0x1d69e2a5);
  return (h ^ (h >>> 16)) >>> 0;
}

/** A 32-bit salt from a word (FNV-1a, then mixed). */
export function salt(word: string): number {
  let h = 0x811c9dc5;
  for (let i = 0; i < word.length; i++) h = Math.imul(h ^ word.charCodeAt(i), 0x01000193);
  return mix32(h);
}

/** A stream of random numbers: sfc32 (Chris Doty-Humphrey), seeded with two words. */
export class Random {
  private a: number;
  private b: number;
  private c: number;
  private counter = 1;

  constructor(seed: number, stream = 0) {
    this.a = mix32(seed);
    this.b = mix32(stream ^ 0x9e3779b9);
    this.c = mix32(seed ^ Math.imul(stream, 0x85ebca6b));
    for (let i = 0; i < 8; i++) this.next();
  }

  /** The next unsigned 32-bit number. */
  next(): number {
    const t = (((this.a + this.b) | 0) + this.counter) | 0;
    this.counter = (this.counter + 1) | 0;
    this.a = this.b ^ (this.b >>> 9);
    this.b = (this.c + (this.c << 3)) | 0;
    this.c = (((this.c << 21) | (this.c >>> 11)) + t) | 0;
    return t >>> 0;
  }

  /** A number in [0, 1). */
  fraction(): number {
    return this.next() / 4294967296;
  }

  /** An integer in [0, bound). */
  below(bound: number): number {
    return Math.floor(this.fraction() * bound);
  }

  /** True with the given probability. */
  chance(probability: number): boolean {
    return this.fraction() < probability;
  }

  /** Shuffles `items` in place (Fisher and Yates) and returns them. */
  shuffle<T>(items: T[]): T[] {
    for (let i = items.length - 1; i > 0; i--) {
      const j = this.below(i + 1);
      const [left, right] = [items[i], items[j]];
      if (left === undefined || right === undefined) continue;
      items[i] = right;
      items[j] = left;
    }
    return items;
  }
}
