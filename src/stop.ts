/** How a process ends: `finishing` lets the page in hand be committed, `leaving` drops it. */
export interface Stop {
  /** Aborted first: no new page is begun. */
  readonly finishing: AbortSignal;
  /** Aborted on a second signal or when finishing takes too long: requests are cut, transactions rolled back. */
  readonly leaving: AbortSignal;
}
