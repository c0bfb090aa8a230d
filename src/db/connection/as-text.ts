import type pg from 'pg';

export interface TextOptions {
  readonly readOnly: boolean;
  /** Settings for this statement alone. */
  readonly settings: Readonly<Record<string, string>>;
}

export interface TextResult {
  readonly columns: readonly string[];
  readonly rows: readonly (readonly (string | null)[])[];
  readonly command: string;
}

/** Values stay text: no number loses digits, no time its zone. */
export async function queryAsText(
  client: pg.PoolClient,
  text: string,
  { readOnly, settings }: TextOptions,
): Promise<TextResult> {
  await client.query(readOnly ? 'begin read only' : 'begin read write');
  try {
    for (const [name, value] of Object.entries(settings))
      await client.query('select set_config($1, $2, true)', [name, value]);
    const types = { getTypeParser: () => String };
    // Extended: one statement and no more, so that none can end the read-only transaction and be followed by another.
    const query = { text, rowMode: 'array' as const, types, queryMode: 'extended' };
    const result = await client.query<(string | null)[]>(query);
    await client.query('commit');
    return {
      columns: result.fields.map(({ name }) => name),
      rows: result.rows,
      command: [result.command, result.rowCount].filter((part) => part !== null).join(' '),
    };
  } catch (error) {
    await client.query('rollback').catch(() => undefined);
    throw error;
  }
}
