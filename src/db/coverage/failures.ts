import { sql } from 'drizzle-orm';
import type { EtlError } from '../../errors.ts';
import type { Stream } from './coverage.ts';
import type { Session } from '../connection/database.ts';

/** Remembers a dataset's last error, for `status`. */
export async function recordFailure(
  session: Session,
  { dataset, scope }: Stream,
  error: EtlError,
): Promise<void> {
  await session.run(sql`
    insert into etl.failures as f (dataset, scope, code, message, hint)
    values (${dataset}, ${scope}, ${error.code}, ${error.message}, ${error.hint ?? null})
    on conflict (dataset, scope) do update set
      code = excluded.code, message = excluded.message, hint = excluded.hint, times = f.times + 1, at = default`);
}
