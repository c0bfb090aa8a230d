import * as z from 'zod';

const Timed = z.object({
  /** Milliseconds about a day of which the reports by day are kept. */
  kept: z.number(),
  /** Milliseconds about the last day, which is summed up while it is asked for. */
  open: z.number(),
});

/** What Postgres computes for the answer to a question of the page; what it waits for is left out. */
export type Timed = z.infer<typeof Timed>;

/** Times by the question's title, which `npm run bench -- questions --save` writes and `npm run docs` puts into the page. */
export const Times = z.record(z.string(), Timed);

/** Where they are, from the root of the project. */
export const SAVED = 'tools/bench/page/last-run.json';
