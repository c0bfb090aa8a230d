import { sql } from 'drizzle-orm';
import * as z from 'zod';
import { csvLine } from '../csv.ts';
import { type Database, type Session, writeTransaction } from '../postgres/database.ts';
import { bare, insertInto, setExcluded } from '../postgres/sql.ts';
import { labels, watch } from '../tables/etl/watch-list.ts';

const Watched = z.object({ address: z.string(), note: z.string(), addedAt: z.coerce.number() });

/** A watched account; `addedAt` in unix seconds. */
export type Watched = z.infer<typeof Watched>;

/** Puts an account (raw form) on the watch list; if it is there already, its note is replaced. */
export async function addWatch(session: Session, address: string, note: string): Promise<void> {
  await session.run(sql`
    ${insertInto(watch, { address, note })}
    on conflict (${bare(watch.address)}) do update set ${setExcluded(watch.note)}`);
}

/** Takes an account off the list; false if it was not on it. Its rows stay. */
export async function removeWatch(session: Session, address: string): Promise<boolean> {
  return (await session.run(sql`delete from ${watch} where ${watch.address} = ${address}`)) > 0;
}

export async function readWatched(session: Session): Promise<Watched[]> {
  return session.rows(
    sql`select ${watch.address}, ${watch.note}, extract(epoch from ${watch.added_at})::int8 as "addedAt" from ${watch}
        order by ${watch.added_at}, ${watch.address}`,
    Watched,
  );
}

const Replaced = z.object({ address: z.string(), was: z.string(), file: z.string(), label: z.string() });

/** A label of another file that an import replaced. */
type Replaced = z.infer<typeof Replaced>;

/** A name for an account (raw form), as in the imported file. */
export interface Label {
  readonly address: string;
  readonly label: string;
  readonly category: string | null;
  readonly organization: string | null;
}

/** Yields many lines at once, so that few chunks are sent. */
function* linesOf(rows: readonly Label[]): Generator<string> {
  const LINES = 10_000;
  for (let from = 0; from < rows.length; from += LINES)
    yield rows
      .slice(from, from + LINES)
      .map(({ address, label, category, organization }) => csvLine([address, label, category, organization]))
      .join('');
}

/**
 * Stores labels in place of those from an earlier import of the same file. An account that another file named gets the
 * new label; of two rows for one account, the later one counts. Returns how many accounts have one now, and the labels of
 * other files that it replaced by other words.
 */
export function storeLabels(
  database: Database,
  file: string,
  batches: AsyncIterable<readonly Label[]>,
): Promise<{ stored: number; replaced: Replaced[] }> {
  const { address, label, category, organization, imported_from } = labels;
  const columns = bare(address, label, category, organization);
  return writeTransaction(database, async (session) => {
    await session.run(sql`delete from ${labels} where ${imported_from} = ${file}`);
    await session.run(
      sql`create temp table given_labels (line bigint generated always as identity, address text, label text, category text, organization text) on commit drop`,
    );
    for await (const batch of batches)
      await session.copyIn(sql`copy given_labels (${columns}) from stdin (format csv)`, linesOf(batch));
    await session.run(sql`
      delete from given_labels g using given_labels l where l.address = g.address and l.line > g.line`);
    const replaced = await session.rows(
      sql`select l.address, l.label as was, l.imported_from as file, g.label
          from ${labels} l join given_labels g on g.address = l.address and g.label <> l.label order by g.line`,
      Replaced,
    );
    const stored = await session.run(sql`
      insert into ${labels} (${columns}, ${bare(imported_from)})
      select ${columns}, ${file}::text from given_labels
      on conflict (${bare(address)}) do update set ${setExcluded(label, category, organization, imported_from)}, imported_at = now()`);
    return { stored, replaced };
  });
}
