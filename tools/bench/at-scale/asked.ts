/** Who is asked, and about which time: `2026-01-01`, UTC. */
export type Asked = ({ readonly lake: string } | { readonly database: string }) & {
  /** Of questions about a day or less. */
  readonly day: string;
  readonly next: string;
  /** Of questions about more. */
  readonly from: string;
  readonly to: string;
};
