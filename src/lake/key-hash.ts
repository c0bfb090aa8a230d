import { HashSum } from '../db/write/hash-text.ts';

/** The sum by which receipts sum up keys, so that a lake proves itself without a server. */
export class KeySum {
  private sum = 0n;
  private readonly hashes = new HashSum();

  get total(): string {
    return String(this.sum);
  }

  /** Adds the hashes of texts; few enough of them that their sum stays within 53 bits. */
  add(texts: readonly string[]): void {
    for (const text of texts) this.hashes.add(text, 'text');
    this.sum += this.hashes.take();
  }
}
