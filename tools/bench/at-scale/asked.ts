/** The lake or database that is asked, and the time: `2026-01-01`, UTC. */
export type Asked = ({ readonly lake: string } | { readonly database: string }) & {
  /** For questions about a day or less. */
  readonly day: string;
  readonly next: string;
  /** For questions about more. */
  readonly from: string;
  readonly to: string;
};
