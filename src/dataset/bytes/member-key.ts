const WORD = 4;

/** Four bytes of a name, as a number, and how many bytes behind its beginning they stand. */
interface KeyWord {
  readonly behind: number;
  readonly word: number;
}

/** The name of a member with its quotes and colon, as it stands in compact JSON: so many bytes, four at least. */
export interface MemberKey {
  readonly length: number;
  readonly words: readonly KeyWord[];
}

export function keyOf(name: string): MemberKey {
  const bytes = Buffer.from(`${JSON.stringify(name)}:`);
  const words = Array.from({ length: Math.ceil(bytes.length / WORD) }, (_, index) => {
    // The last word ends with the name, and may have something of the one before.
    const behind = Math.min(index * WORD, bytes.length - WORD);
    return { behind, word: bytes.readInt32LE(behind) };
  });
  return { length: bytes.length, words };
}
