import type pg from 'pg';

/** A digest of all rows of each table of schema ton: every column except `loaded_at`, in an order of their own. */
export async function digestTables(client: pg.Client): Promise<Record<string, string>> {
  const { rows: tables } = await client.query<{ name: string }>(
    `select relname as name from pg_class
     where relnamespace = 'ton'::regnamespace and relkind in ('r', 'p') order by relname`,
  );
  const digests: Record<string, string> = {};
  for (const { name } of tables) {
    const { rows } = await client.query<{ digest: string }>(
      `select count(*) || ' rows ' || md5(coalesce(string_agg(text, E'\\n' order by text collate "C"), '')) as digest
       from (select (to_jsonb(t) - 'loaded_at')::text as text from ton.${name} t) rows`,
    );
    digests[name] = rows[0]?.digest ?? '';
  }
  return digests;
}
