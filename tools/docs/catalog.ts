import { sql } from 'drizzle-orm';
import * as z from 'zod';
import type { Database } from '../../src/postgres/database.ts';

const Column = z.object({ name: z.string(), type: z.string(), nullable: z.boolean(), comment: z.string() });
const Entity = z.object({
  schema: z.enum(['ton', 'etl']),
  name: z.string(),
  kind: z.enum(['table', 'view']),
  partitioned: z.boolean(),
  comment: z.string(),
  key: z.array(z.string()),
  /** Columns of each index except the key's. */
  indexes: z.array(z.string()),
  columns: z.array(Column),
});
const Callable = z.object({
  name: z.string(),
  signature: z.string(),
  returns: z.string(),
  comment: z.string(),
});

export type Entity = z.infer<typeof Entity>;
export type Callable = z.infer<typeof Callable>;

/** The catalog of a migrated database. */
export interface Catalog {
  readonly entities: readonly Entity[];
  /** Functions of schema ton, and those of schema etl that analysts call. */
  readonly functions: readonly Callable[];
}

export async function readCatalog(database: Database): Promise<Catalog> {
  const entities = await database.rows(
    sql`
      select n.nspname as schema, c.relname as name, case c.relkind when 'v' then 'view' else 'table' end as kind,
        c.relkind = 'p' as partitioned, coalesce(obj_description(c.oid, 'pg_class'), '') as comment,
        coalesce((select array_agg(a.attname::text order by k.place) from pg_index i, unnest(i.indkey) with ordinality k (attnum, place)
          join pg_attribute a on a.attnum = k.attnum where i.indrelid = c.oid and i.indisprimary and a.attrelid = c.oid), '{}') as key,
        coalesce((select array_agg(regexp_replace(pg_get_indexdef(i.indexrelid), '^.* USING ', '') order by x.relname)
          from pg_index i join pg_class x on x.oid = i.indexrelid where i.indrelid = c.oid and not i.indisprimary), '{}') as indexes,
        (select jsonb_agg(jsonb_build_object('name', a.attname, 'type', format_type(a.atttypid, a.atttypmod),
            'nullable', not a.attnotnull, 'comment', coalesce(col_description(c.oid, a.attnum), '')) order by a.attnum)
          from pg_attribute a where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped) as columns
      from pg_class c join pg_namespace n on n.oid = c.relnamespace
      where n.nspname in ('ton', 'etl') and c.relkind in ('r', 'p', 'v')
      order by 1 desc, 3, 2`,
    Entity,
  );
  const functions = await database.rows(
    sql`
      select p.proname::text as name, format('%s(%s)', p.proname, pg_get_function_arguments(p.oid)) as signature,
        pg_get_function_result(p.oid) as returns, coalesce(obj_description(p.oid, 'pg_proc'), '') as comment
      from pg_proc p join pg_namespace n on n.oid = p.pronamespace
      where n.nspname = 'ton' or n.nspname = 'etl' and p.proname in ('assert_complete', 'as_times', 'fed')
      order by n.nspname desc, 1`,
    Callable,
  );
  return { entities, functions };
}
