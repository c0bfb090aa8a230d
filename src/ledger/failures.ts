import { sql } from 'drizzle-orm';
import { NoEndpointError, type EtlError } from '../errors.ts';
import type { Stream } from './stored-coverage.ts';
import type { Session } from '../postgres/database.ts';
import { bare, insertInto, setExcluded } from '../postgres/sql.ts';
import { failures } from '../tables/etl/pages.ts';

/** Stores a dataset's last error for `status`. */
export async function recordFailure(
  session: Session,
  { dataset, scope }: Stream,
  error: EtlError,
): Promise<void> {
  const { code, message, hint, times, at } = failures;
  await session.run(sql`
    ${insertInto(failures, { dataset, scope, code: error.code, message: error.message, hint: error.hint })}
    on conflict (${bare(failures.dataset, failures.scope)}) do update
      set ${setExcluded(code, message, hint)}, ${bare(times)} = ${times} + 1, ${bare(at)} = default`);
}

/** The endpoint that the server does not have, if that is why a dataset failed. */
export function endpointOf({
  code,
  message,
}: {
  readonly code: string;
  readonly message: string;
}): string | undefined {
  return code === NO_ENDPOINT ? (/^GET (\S+)/.exec(message)?.[1] ?? 'such endpoint') : undefined;
}

const NO_ENDPOINT = new NoEndpointError('').code;
