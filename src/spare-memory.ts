/** Smaller buffers are not worth keeping. */
const SMALLEST = 2 ** 16;

/** Free memory that can be reused, by its length. The garbage collector may take it. */
const spare = new Map<number, WeakRef<ArrayBuffer>[]>();
/** Memory that was taken and not given back. */
const lent = new WeakSet<ArrayBufferLike>();

/**
 * At least this many bytes of memory, not cleared. The caller may give them back for reuse.
 *
 * V8 frees memory outside its heap only when it collects all garbage, which it does for every 64 MB of such memory.
 * That would be every few pages, because each takes about ten MB. New memory also costs a page fault for every 4 kB.
 */
export function takeMemory(bytes: number): ArrayBuffer {
  if (bytes < SMALLEST) return new ArrayBuffer(bytes);
  const size = 2 ** Math.ceil(Math.log2(bytes));
  const memory = spareOf(size) ?? Buffer.allocUnsafeSlow(size).buffer;
  lent.add(memory);
  return memory;
}

/** Gives memory back. The caller must not use it any more. Memory that was not taken here is ignored. */
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
