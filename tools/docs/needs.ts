import { sql } from 'drizzle-orm';
import * as z from 'zod';
import type { Database } from '../../src/postgres/database.ts';
import type { Timed } from '../bench/page/saved.ts';

const Feed = z.object({
  relation: z.string(),
  dataset: z.string(),
  core: z.boolean(),
  kind: z.enum(['stream', 'list']),
});

/** A dataset that feeds a table, view or function of schema ton. */
export type Feed = z.infer<typeof Feed>;

export function readFeeds(database: Database): Promise<Feed[]> {
  return database.rows(
    sql`select f.relation, f.dataset, d.core, d.kind from etl.feeds f join etl.datasets d using (dataset)
        order by f.dataset, f.relation`,
    Feed,
  );
}

const QUESTION = /^(### (.*)\n\n```sql\n([\s\S]*?);\n```\n)(\nNeeds: .*\n)?/gm;

/** The page of questions, with a line for each that names the datasets it needs, and the time of its answer. */
export function writeNeeds(
  page: string,
  feeds: readonly Feed[],
  timed: Readonly<Record<string, Timed>>,
): string {
  return page.replaceAll(QUESTION, (_all, head: string, title: string, statement: string) => {
    const time = timed[title];
    return `${head}\nNeeds: ${needsOf(statement, feeds)}.${time === undefined ? '' : ` ${timeOf(time)}`}\n`;
  });
}

/** A smaller factor is not noticed. */
const ALIKE = 1.5;

function timeOf({ kept, open }: Timed): string {
  const [fast, slow] = [Math.ceil(kept), Math.ceil(open)];
  return slow > ALIKE * fast && slow - fast > 10
    ? `Time: ${fast} ms if the day is kept, ${slow} ms if it is open.`
    : `Time: ${Math.max(fast, slow)} ms.`;
}

function needsOf(statement: string, feeds: readonly Feed[]): string {
  const read = feeds.filter(({ relation }) => isRead(relation, statement));
  const datasets = new Map(read.map(({ dataset, core }) => [dataset, core]));
  return [...datasets].map(([name, core]) => (core ? name : `${name} (not core)`)).join(', ');
}

/** A table or view comes after `from` or `join`, a function before its arguments; elsewhere the word is a column. */
function isRead(relation: string, statement: string): boolean {
  return new RegExp(`\\b(from|join)\\s+${relation}\\b|\\b${relation}\\(`).test(statement);
}
