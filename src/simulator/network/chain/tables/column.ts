type Numbers = Float64Array | Uint32Array | Int32Array | Uint8Array;

/**
 * A growing list of numbers in a typed array: eight bytes a row or fewer, so that millions of rows fit in memory.
 * Reading outside gives 0, because a typed array's own `undefined` would spoil every caller.
 */
export class Column {
  private values: Numbers;
  private size = 0;
  private readonly create: (length: number) => Numbers;

  private constructor(create: (length: number) => Numbers) {
    this.create = create;
    this.values = create(1024);
  }

  static float64 = (): Column => new Column((length) => new Float64Array(length));
  static uint32 = (): Column => new Column((length) => new Uint32Array(length));
  static int32 = (): Column => new Column((length) => new Int32Array(length));
  static uint8 = (): Column => new Column((length) => new Uint8Array(length));

  get length(): number {
    return this.size;
  }

  get(index: number): number {
    return this.values[index] ?? 0;
  }

  set(index: number, value: number): void {
    this.values[index] = value;
  }

  push(value: number): void {
    if (this.size === this.values.length) {
      const grown = this.create(this.size * 2);
      grown.set(this.values);
      this.values = grown;
    }
    this.values[this.size++] = value;
  }

  /** Takes off everything from `length` on and returns it. */
  cut(length: number): number[] {
    const taken = Array.from(this.values.subarray(length, this.size));
    this.size = Math.min(this.size, length);
    return taken;
  }

  /** The first index in [from, to) whose `key(value)` is not below `wanted`; the column must be sorted by that key. */
  lowerBound(
    wanted: number,
    key: (value: number) => number = (value) => value,
    from = 0,
    to = this.size,
  ): number {
    let low = from;
    let high = to;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (key(this.get(middle)) < wanted) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}
