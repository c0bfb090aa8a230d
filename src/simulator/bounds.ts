/** What a request asks for: seconds or lts from the first to the last, both inclusive. */
export interface Bounds {
  readonly first: number;
  readonly last: number;
}
