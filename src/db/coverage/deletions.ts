import { sql } from 'drizzle-orm';
import * as z from 'zod';
import type { Session } from '../connection/database.ts';
import { partitions } from '../schema/etl/pages.ts';
import { spanOfRow } from '../connection/sql.ts';

const Partition = z.object({
  table: z.string(),
  span: spanOfRow,
  mark: z.string(),
});

/** A partition of a stream table. */
export type PartitionMark = z.infer<typeof Partition>;

/**
 * A mark for each partition that changes when rows are deleted from it or it is truncated, whoever does so. Postgres
 * counts deletions by itself, so asking costs next to nothing; a session that has just done something else may tell of
 * its deletions only some seconds later.
 */
export function readDeletionMarks(session: Session): Promise<PartitionMark[]> {
  return session.rows(
    sql`select ${partitions.parent} as table, ${partitions.span}::text, s.n_tup_del || '/' || c.relfilenode as mark
        from ${partitions}
          join pg_class c on c.relname = ${partitions.name} and c.relnamespace = 'etl_partitions'::regnamespace
          join pg_stat_user_tables s on s.relid = c.oid
        order by lower(${partitions.span}) desc, ${partitions.parent}`,
    Partition,
  );
}
