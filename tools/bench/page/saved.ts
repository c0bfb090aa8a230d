/** Milliseconds that Postgres computes for the answer to a question of the page. */
export interface Timed {
  /** About a day of which the reports by day are kept. */
  readonly kept: number;
  /** About the last day, which is summed up while it is asked for. */
  readonly open: number;
}

/** Times by the question's title, which `npm run bench -- questions --save` writes and `npm run docs` puts into the page. */
export const SAVED = 'tools/bench/page/last-run.json';
