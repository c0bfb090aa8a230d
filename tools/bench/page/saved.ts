import * as z from 'zod';

const Timed = z.object({
  /** Milliseconds about a day whose reports are closed. */
  kept: z.number(),
  /** Milliseconds about the last day, which is summed up in the query. */
  open: z.number(),
});

/** The CPU time of Postgres for a question of the page; its waits are left out. */
export type Timed = z.infer<typeof Timed>;

/**
 * Times by the question's title, which `npm run bench -- questions --save` writes and `npm run docs` puts
 * into the page.
 */
export const Times = z.record(z.string(), Timed);

/** The path of the times, from the root of the project. */
export const SAVED = 'tools/bench/page/last-run.json';
