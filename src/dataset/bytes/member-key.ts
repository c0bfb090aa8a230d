const WORD = 4;

/** The name of a member with its quotes and colon, as it stands in compact JSON. It is compared four bytes at a time. */
export class MemberKey {
  /** In bytes: four at least. */
  readonly length: number;
  private readonly words: Int32Array;

  constructor(name: string) {
    const bytes = Buffer.from(`${JSON.stringify(name)}:`);
    this.length = bytes.length;
    const count = Math.ceil(bytes.length / WORD);
    this.words = Int32Array.from({ length: count }, (_, index) => bytes.readInt32LE(this.placeOf(index)));
  }

  /** True where it begins at a byte. */
  isAt(body: DataView, at: number): boolean {
    if (at + this.length > body.byteLength) return false;
    const { words } = this;
    for (let index = 0; index < words.length; index += 1)
      if (body.getInt32(at + this.placeOf(index), true) !== words[index]) return false;
    return true;
  }

  /** The last word ends with the name, and may have something of the one before. */
  private placeOf(index: number): number {
    return Math.min(index * WORD, this.length - WORD);
  }
}
