/** Less is not worth keeping. */
const SMALLEST = 2 ** 16;

/** Memory that is free to be used again, by its length. The garbage collector may take it. */
const spare = new Map<number, WeakRef<ArrayBuffer>[]>();
/** Memory that was taken and not given back. */
const lent = new WeakSet<ArrayBufferLike>();

/**
 * At least so many bytes of memory of their own, not cleared. The caller may give them back, to be used again.
 *
 * V8 frees memory outside its heap only when it collects all garbage, and it does that for every 64 MB of it: every few
 * pages, each of which takes some ten. New memory also costs a page fault for every 4 kB.
 */
export function takeMemory(bytes: number): ArrayBuffer {
  if (bytes < SMALLEST) return new ArrayBuffer(bytes);
  const size = 2 ** Math.ceil(Math.log2(bytes));
  const memory = spareOf(size) ?? Buffer.allocUnsafeSlow(size).buffer;
  lent.add(memory);
  return memory;
}

/** The caller holds nothing that shows it. Memory that was not taken here is left as it is. */
export function giveMemory(memory: ArrayBufferLike): void {
  if (!(memory instanceof ArrayBuffer) || !lent.delete(memory)) return;
  const known = spare.get(memory.byteLength) ?? [];
  known.push(new WeakRef(memory));
  spare.set(memory.byteLength, known);
}

function spareOf(size: number): ArrayBuffer | undefined {
  const known = spare.get(size) ?? [];
  for (let last = known.pop(); last !== undefined; last = known.pop()) {
    const memory = last.deref();
    if (memory !== undefined) return memory;
  }
  return undefined;
}
