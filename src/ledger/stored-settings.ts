import { sql, type SQL } from 'drizzle-orm';
import * as z from 'zod';
import { type Session, holdLock, type LockMode } from '../postgres/database.ts';
import { bare, insertInto, jsonParam, setExcluded, excluded } from '../postgres/sql.ts';
import { settings } from '../tables/etl/pages.ts';
import { LOCKS } from '../locks.ts';

/** Facts that all processes of a database must agree on: rows of the table `settings`, by name. */
export interface Settings {
  /** The network that the database holds. */
  readonly network: {
    readonly global_id: number;
    /** A masterchain block of it, which tells two chains with one global_id apart. */
    readonly block?: { readonly seqno: number; readonly root_hash: string } | undefined;
  };
  /** The repeatable part of the schema that was applied last. */
  readonly repeatable: { readonly sha256: string };
  /** Variables that the last crawl was called with, for commands in hints, and the one of them that names the network. */
  readonly caller: { readonly environment: string; readonly network: string };
  /** First block of the live demo network that the database follows, unix seconds. */
  readonly demo: { readonly genesis: number };
  /** The state of the database that is being copied into this one. */
  readonly promote: { readonly source: string };
  /** What retention has decided: the first second that is kept, by dataset and by table. */
  readonly floors: {
    readonly datasets: Readonly<Record<string, number>>;
    readonly tables: Readonly<Record<string, number>>;
    /** The lake that has the older rows, of each dataset that was dropped after its rows were proved to be there. */
    readonly lakes?: Readonly<Record<string, string>> | undefined;
  };
  /** How the daemon keeps a lake up to date, times in unix seconds. */
  readonly lake: {
    readonly location: string;
    readonly begunAt: number;
    /** Everything that was covered then is in the lake; null if no round has finished. */
    readonly upTo: number | null;
    /** When changed rows were last searched for. */
    readonly renewedAt: number | null;
    /** When lists were read last. */
    readonly listedAt?: number | undefined;
    readonly error: string | null;
  };
  /** The last watermark that a process found, times in unix seconds; `utime` is 0 if it was not known yet. */
  readonly watermark: {
    readonly utime: number;
    readonly headSeqno: number;
    readonly headUtime: number;
    readonly newest?: number | undefined;
    /** Below this time every replica shows everything, if none lags more than `delaySeconds` behind another. */
    readonly everywhere?: { readonly utime: number; readonly delaySeconds: number } | undefined;
    /** The polls from which the next leader continues, oldest first. */
    readonly polls?: readonly { readonly newest: number; readonly utime: number }[] | undefined;
    /** Above this time nothing can be read, because the source has gone back; undefined if it has not. */
    readonly ceiling?: number | undefined;
    readonly waitingFor: string | null;
  };
}

type Name = keyof Settings;

const seconds = z.record(z.string(), z.number());

const SCHEMAS: { readonly [N in Name]: z.ZodType<Settings[N]> } = {
  network: z.object({
    global_id: z.number(),
    block: z.object({ seqno: z.number(), root_hash: z.string() }).optional(),
  }),
  repeatable: z.object({ sha256: z.string() }),
  caller: z.object({ environment: z.string(), network: z.string() }),
  demo: z.object({ genesis: z.number() }),
  promote: z.object({ source: z.string() }),
  floors: z.object({
    datasets: seconds,
    tables: seconds,
    lakes: z.record(z.string(), z.string()).optional(),
  }),
  lake: z.object({
    location: z.string(),
    begunAt: z.number(),
    upTo: z.number().nullable(),
    renewedAt: z.number().nullable(),
    listedAt: z.number().optional(),
    error: z.string().nullable(),
  }),
  watermark: z.object({
    utime: z.number(),
    headSeqno: z.number(),
    headUtime: z.number(),
    newest: z.number().optional(),
    everywhere: z.object({ utime: z.number(), delaySeconds: z.number() }).optional(),
    polls: z.array(z.object({ newest: z.number(), utime: z.number() })).optional(),
    ceiling: z.number().optional(),
    waitingFor: z.string().nullable(),
  }),
};

/** The value of a setting; undefined if there is none. */
export async function readSetting<N extends Name>(
  session: Session,
  name: N,
): Promise<Settings[N] | undefined> {
  const [row] = await session.rows(
    sql`select ${settings.value} from ${settings} where ${settings.name} = ${name}`,
    z.object({ value: z.unknown() }),
  );
  return row === undefined ? undefined : SCHEMAS[name].parse(row.value);
}

/** A condition on the stored row under which the new value replaces it. */
interface KeepOptions {
  readonly where?: SQL;
}

export async function keepSetting<N extends Name>(
  session: Session,
  name: N,
  value: Settings[N],
  { where = sql`true` }: KeepOptions = {},
): Promise<void> {
  await session.run(sql`
    ${insertInto(settings, { name, value: jsonParam(value) })}
    on conflict (${bare(settings.name)}) do update
      set ${setExcluded(settings.value)}, ${bare(settings.updated_at)} = default where ${where}`);
}

/** Decides a value once: the value of an earlier process stays, and is returned. */
export async function decideSetting<N extends Name>(
  session: Session,
  name: N,
  value: Settings[N],
): Promise<Settings[N]> {
  await session.run(sql`${insertInto(settings, { name, value: jsonParam(value) })} on conflict do nothing`);
  return (await readSetting(session, name)) ?? value;
}

export async function dropSetting(session: Session, name: Name): Promise<void> {
  await session.run(sql`delete from ${settings} where ${settings.name} = ${name}`);
}

export type SavedWatermark = Settings['watermark'];

/** Stores a watermark for `status` and for other processes, unless a later one is stored. */
export async function saveWatermark(session: Session, watermark: SavedWatermark): Promise<void> {
  const where = sql`(${settings.value}->>'utime')::int8 <= (${excluded(settings.value)}->>'utime')::int8`;
  await keepSetting(session, 'watermark', watermark, { where });
}

export function readSavedWatermark(session: Session): Promise<SavedWatermark | undefined> {
  return readSetting(session, 'watermark');
}

/** The watermark that another process found, and the newest block that it saw; undefined before the first. */
export async function readFoundWatermark(
  session: Session,
): Promise<(SavedWatermark & { readonly newest: number }) | undefined> {
  const saved = await readSavedWatermark(session);
  if (saved === undefined || saved.utime === 0) return undefined;
  return { ...saved, newest: saved.newest ?? saved.headUtime };
}

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
export function belowFloor(dataset: string | SQL): SQL {
  return sql`coalesce((
    select int8multirange(int8range(null, f.floor)) from (select ${floorOfDataset(dataset)}) as f (floor)
    where f.floor is not null), '{}')`;
}
