import { sql, type SQL } from 'drizzle-orm';
import { LOCKS } from '../locks.ts';
import { holdLock, type LockMode } from '../postgres/hold-lock.ts';
import type { Session } from '../postgres/database.ts';
import { settings } from '../tables/etl/pages.ts';
import { readSetting } from './stored-settings.ts';

/** The first second that is kept, by dataset and by table. Earlier seconds are neither read nor written. */
export interface Floors {
  readonly datasets: ReadonlyMap<string, number>;
  readonly tables: ReadonlyMap<string, number>;
  /** The lake that has the older rows, of datasets that were dropped after they were exported. */
  readonly lakes: Readonly<Record<string, string>>;
}

/** The floors that retention has set so far. Every writer reads them before each page. */
export async function readFloors(session: Session): Promise<Floors> {
  const floors = await readSetting(session, 'floors');
  return {
    datasets: new Map(Object.entries(floors?.datasets ?? {})),
    tables: new Map(Object.entries(floors?.tables ?? {})),
    lakes: floors?.lakes ?? {},
  };
}

/** Keeps the floors unchanged until the transaction ends. A process that moves one holds them `alone`. */
export async function holdFloors(session: Session, mode: LockMode): Promise<void> {
  await holdLock(session, LOCKS.retention, mode);
}

/** The first second that is kept of a dataset, as a scalar within a statement; null if all are. */
export function floorOfDataset(name: string | SQL): SQL {
  return floorOf(sql`'datasets'`, name);
}

/** The first second that is kept of a table, as a scalar within a statement; null if all are. */
export function floorOfTable(name: string | SQL): SQL {
  return floorOf(sql`'tables'`, name);
}

function floorOf(kind: SQL, name: string | SQL): SQL {
  return sql`(select (${settings.value}->${kind}->>${name}::text)::int8 from ${settings}
    where ${settings.name} = 'floors')`;
}

/** The seconds below a dataset's floor, as a multirange. They are never leased: pages would cover dropped rows. */
export function expiredOf(dataset: string | SQL): SQL {
  return sql`coalesce((
    select int8multirange(int8range(null, f.floor)) from (select ${floorOfDataset(dataset)}) as f (floor)
    where f.floor is not null), '{}')`;
}
