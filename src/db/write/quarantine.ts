import { sql } from 'drizzle-orm';
import { stringify } from 'lossless-json';
import { formatTime } from '../../range.ts';
import type { Rejected } from '../../dataset/job.ts';
import type { Extra } from '../../dataset/record.ts';
import type { Stream } from '../coverage/coverage.ts';
import type { Session } from '../connection/database.ts';

/** Keeps records that did not fit, whole; one that comes again is counted. */
export async function quarantineRecords(
  session: Session,
  stream: Stream,
  request: string,
  rejected: readonly Rejected[],
): Promise<void> {
  for (const { position, path, reason, raw } of rejected) {
    await session.run(sql`
      insert into etl.quarantine as q (dataset, scope, record_id, utime, path, reason, raw, request)
      values (${stream.dataset}, ${stream.scope}, ${position.id}, ${formatTime(position.utime)}, ${path}, ${reason},
        ${stringify(raw) ?? 'null'}, ${request})
      on conflict (dataset, scope, record_id) do update set
        path = excluded.path, reason = excluded.reason, raw = excluded.raw, request = excluded.request,
        attempts = q.attempts + 1, last_at = default`);
  }
}

/** A record that fits at last leaves quarantine. */
export async function releaseRecords(
  session: Session,
  stream: Stream,
  ids: readonly string[],
): Promise<void> {
  await session.run(sql`
    delete from etl.quarantine
    where dataset = ${stream.dataset} and scope = ${stream.scope}
      and record_id in (select json_array_elements_text(${JSON.stringify(ids)}::json))`);
}

interface Drift {
  readonly path: string;
  readonly type: string;
  readonly example: unknown;
  readonly times: number;
}

/** Counts members that no column takes. */
export async function countDrift(session: Session, dataset: string, extras: readonly Extra[]): Promise<void> {
  for (const { path, type, example, times } of driftsOf(extras)) {
    await session.run(sql`
      insert into etl.schema_drift as d (dataset, path, type, example, times)
      values (${dataset}, ${path}, ${type}, ${stringify(example) ?? 'null'}::jsonb, ${times})
      on conflict (dataset, path, type) do update set times = d.times + excluded.times, last_at = default`);
  }
}

function driftsOf(extras: readonly Extra[]): Drift[] {
  const drifts = new Map<string, Drift>();
  for (const [member, example] of extras.flatMap((extra) => Object.entries(extra))) {
    const path = member.replace(/\.\d+(?=\.|$)/g, '.*');
    const type = typeOf(example);
    const times = (drifts.get(`${path} ${type}`)?.times ?? 0) + 1;
    drifts.set(`${path} ${type}`, { path, type, example, times });
  }
  return [...drifts.values()].sort((a, b) => (a.path < b.path ? -1 : 1));
}

function typeOf(value: unknown): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'array';
  return typeof value === 'bigint' ? 'number' : typeof value;
}
