/** What decides how often the tail asks. */
export interface TailPlan {
  /** Seconds that the newest rows may be behind what may be read. */
  readonly freshness: number;
  /** Requests a second that are allowed. */
  readonly rps: number;
}
