/** The window of a request: seconds or lts, both ends inclusive. */
export interface Bounds {
  readonly first: number;
  readonly last: number;
}
