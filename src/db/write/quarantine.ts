import { sql, type SQL } from 'drizzle-orm';
import { stringify } from 'lossless-json';
import { formatTime } from '../../range.ts';
import type { Rejected } from '../../dataset/job.ts';
import type { Extra } from '../../dataset/record.ts';
import type { Stream } from '../coverage/coverage.ts';
import type { Session } from '../connection/database.ts';
import { bare, excluded, insertInto, rangeParam, setExcluded, texts } from '../connection/sql.ts';
import { quarantine, schemaDrift } from '../schema/etl/quarantine.ts';

/** Keeps records that did not fit, whole, once for each place where they may lie; one that comes again is counted. */
export async function quarantineRecords(
  session: Session,
  stream: Stream,
  request: string,
  rejected: readonly Rejected[],
): Promise<void> {
  const { dataset, scope } = stream;
  const { record_id, attempts, last_at } = quarantine;
  for (const { position, span, path, reason, raw } of rejected) {
    const insert = insertInto(quarantine, {
      dataset,
      scope,
      record_id: position.id,
      utime: formatTime(position.utime),
      span: rangeParam(span),
      path,
      reason,
      raw: stringify(raw) ?? 'null',
      request,
    });
    await session.run(sql`
      ${insert}
      on conflict (${bare(quarantine.dataset, quarantine.scope, record_id, quarantine.span)}) do update
        set ${setExcluded(quarantine.path, quarantine.reason, quarantine.raw, quarantine.request)},
          ${bare(attempts)} = ${attempts} + 1, ${bare(last_at)} = default`);
  }
}

/** True where records of a stream are in quarantine: asked before any is released, for ids are many. */
export async function hasQuarantined(session: Session, stream: Stream): Promise<boolean> {
  return (await session.run(sql`select 1 from ${quarantine} where ${isOf(stream)} limit 1`)) > 0;
}

/** Records that fit at last leave quarantine. */
export async function releaseRecords(
  session: Session,
  stream: Stream,
  ids: readonly string[],
): Promise<void> {
  await session.run(sql`
    delete from ${quarantine} where ${isOf(stream)} and ${quarantine.record_id} in (${texts(ids)})`);
}

function isOf({ dataset, scope }: Stream): SQL {
  return sql`${quarantine.dataset} = ${dataset} and ${quarantine.scope} = ${scope}`;
}

interface DriftedMember {
  readonly path: string;
  readonly type: string;
  readonly example: unknown;
  readonly times: number;
}

/** Counts members that no column takes. */
export async function countDrift(session: Session, dataset: string, extras: readonly Extra[]): Promise<void> {
  for (const { path, type, example, times } of driftsOf(extras)) {
    const seen = schemaDrift.times;
    await session.run(sql`
      ${insertInto(schemaDrift, { dataset, path, type, example: sql`${stringify(example) ?? 'null'}::jsonb`, times })}
      on conflict (${bare(schemaDrift.dataset, schemaDrift.path, schemaDrift.type)}) do update
        set ${bare(seen)} = ${seen} + ${excluded(seen)}, ${bare(schemaDrift.last_at)} = default`);
  }
}

function driftsOf(extras: readonly Extra[]): DriftedMember[] {
  const drifts = new Map<string, DriftedMember>();
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
