import { sql, type SQL } from 'drizzle-orm';
import * as z from 'zod';
import { type Session, holdLock, type LockMode } from '../postgres/database.ts';
import { bare, insertInto, jsonParam, setExcluded, excluded } from '../postgres/sql.ts';
import { settings } from '../tables/etl/pages.ts';
import { LOCKS } from '../locks.ts';
import { WrongDatabaseError, WrongNetworkError } from '../errors.ts';
import { MASTERCHAIN, MASTERCHAIN_SHARD } from '../ton/shard.ts';

export const MAINNET = -239;

/** The global_id of simulated networks; the one whose head moves has its own, so that no database mixes the two. */
export const SIMULATED = -777;
export const SIMULATED_LIVE = -778;

const NAMES: ReadonlyMap<number, string> = new Map([
  [MAINNET, 'mainnet'],
  [-3, 'testnet'],
  [SIMULATED, 'the simulated network'],
  [SIMULATED_LIVE, 'the live simulated network'],
]);

/** The name of the network with a global_id, for people. */
export function networkName(globalId: number): string {
  return NAMES.get(globalId) ?? `network ${globalId}`;
}

/** The global_id of the network that the database holds; undefined before the first crawl. */
export async function readNetwork(session: Session): Promise<number | undefined> {
  return (await readSetting(session, 'network'))?.global_id;
}

/** The error text and hint if the API does not serve the network that the database holds. */
export function networkMismatch(
  held: number,
  served: number,
): { readonly what: string; readonly hint: string } {
  return {
    what: `the database holds ${networkName(held)}, the API serves ${networkName(served)}`,
    hint: 'Set DATABASE_URL (or ETL_DATA_DIR) to another database, or TONCENTER_NETWORK to the network it holds.',
  };
}

/**
 * One database holds one network: the first crawl decides which.
 * @throws WrongDatabaseError if it holds another one
 */
export async function claimNetwork(session: Session, globalId: number): Promise<void> {
  const { global_id: held } = await decideSetting(session, 'network', { global_id: globalId });
  if (held === globalId) return;
  throw new WrongDatabaseError(conflictOf(held, globalId), { hint: networkMismatch(held, globalId).hint });
}

/** A masterchain block: chains that share a global_id do not share it. */
export interface ChainBlock {
  readonly seqno: number;
  readonly rootHash: string;
}

/**
 * One database holds one chain: a network that was restarted under its old global_id has other blocks with the same
 * seqnos. The index may have dropped its first blocks since, so only blocks with one seqno are compared.
 * @param first the first masterchain block that the index has now
 * @param rootHashOf asks the API for the root hash of a masterchain block; undefined if it has none
 * @throws WrongDatabaseError if the database holds another chain
 */
export async function claimChain(
  session: Session,
  first: ChainBlock,
  rootHashOf: (seqno: number) => Promise<string | undefined>,
): Promise<void> {
  const held = await readSetting(session, 'network');
  if (held === undefined) return;
  const { block } = held;
  if (block !== undefined) {
    const now = block.seqno === first.seqno ? first.rootHash : await rootHashOf(block.seqno);
    if (now === block.root_hash && block.seqno === first.seqno) return;
    if (now !== undefined && now !== block.root_hash)
      throw new WrongDatabaseError(otherChain(block.seqno), { hint: RESTARTED });
  }
  const mismatch = await chainMismatch(session, first);
  if (mismatch !== undefined) throw new WrongDatabaseError(mismatch.what, mismatch);
  await keepSetting(session, 'network', {
    ...held,
    block: { seqno: first.seqno, root_hash: first.rootHash },
  });
}

/** The error text and hint if the first block of the API's index has another root hash in the database. */
export async function chainMismatch(
  session: Session,
  { seqno, rootHash }: { readonly seqno: number; readonly rootHash?: string | undefined },
): Promise<ReturnType<typeof networkMismatch> | undefined> {
  if (rootHash === undefined) return undefined;
  const [stored] = await session.rows(
    sql`select root_hash from ton.blocks
        where workchain = ${MASTERCHAIN} and shard = ${MASTERCHAIN_SHARD} and seqno = ${seqno} limit 1`,
    z.object({ root_hash: z.string() }),
  );
  const remembered = (await readSetting(session, 'network'))?.block;
  const hashes = [stored?.root_hash, remembered?.seqno === seqno ? remembered.root_hash : undefined];
  const isOther = hashes.some((hash) => hash !== undefined && hash !== rootHash);
  return isOther ? { what: otherChain(seqno), hint: RESTARTED } : undefined;
}

function otherChain(seqno: number): string {
  return `the database holds another chain: masterchain block ${seqno} of the API has another root hash`;
}

const RESTARTED =
  'The network was restarted under the same global_id. Set DATABASE_URL (or ETL_DATA_DIR) to another database, or drop this one.';

/** The error if the API began to serve another chain during a crawl. */
export function chainChanged(seqno: number): WrongNetworkError {
  return new WrongNetworkError(otherChain(seqno), { hint: RESTARTED });
}

/** The error if the API began to serve another network during a crawl. */
export function networkChanged(held: number, served: number): WrongNetworkError {
  return new WrongNetworkError(conflictOf(held, served), {
    hint: 'Check which server the address of TONCENTER_NETWORK resolves to. docs/operator/runbook.md says what to check before a restart.',
  });
}

function conflictOf(held: number, served: number): string {
  return `${networkMismatch(held, served).what}: one database holds one network`;
}

const seconds = z.record(z.string(), z.number());

/** Facts that all processes of a database must agree on: rows of the table `settings`, by name. */
const SCHEMAS = {
  /** The network that the database holds. */
  network: z.object({
    global_id: z.number(),
    /** A masterchain block of it, which tells two chains with one global_id apart. */
    block: z.object({ seqno: z.number(), root_hash: z.string() }).optional(),
  }),
  /** The repeatable part of the schema that was applied last. */
  repeatable: z.object({ sha256: z.string() }),
  /** Variables that the last crawl was called with, for commands in hints, and the one of them that names the network. */
  caller: z.object({ environment: z.string(), network: z.string() }),
  /** First block of the live demo network that the database follows, unix seconds. */
  demo: z.object({ genesis: z.number() }),
  /** The state of the database that is being copied into this one. */
  promote: z.object({ source: z.string() }),
  /** What retention has decided: the first second that is kept, by dataset and by table. */
  floors: z.object({
    datasets: seconds,
    tables: seconds,
    /** The lake that has the older rows, of each dataset that was dropped after its rows were proved to be there. */
    lakes: z.record(z.string(), z.string()).optional(),
  }),
  /** How the daemon keeps a lake up to date, times in unix seconds. */
  lake: z.object({
    location: z.string(),
    begunAt: z.number(),
    /** Everything that was covered then is in the lake; null if no round has finished. */
    upTo: z.number().nullable(),
    /** When changed rows were last searched for. */
    renewedAt: z.number().nullable(),
    /** When lists were read last. */
    listedAt: z.number().optional(),
    error: z.string().nullable(),
  }),
  /** The last watermark that a process found, times in unix seconds; `utime` is 0 if it was not known yet. */
  watermark: z.object({
    utime: z.number(),
    headSeqno: z.number(),
    headUtime: z.number(),
    newest: z.number().optional(),
    /** Below this time every replica shows everything, if none lags more than `delaySeconds` behind another. */
    everywhere: z.object({ utime: z.number(), delaySeconds: z.number() }).optional(),
    /** The polls from which the next leader continues, oldest first. */
    polls: z
      .array(z.object({ newest: z.number(), utime: z.number() }))
      .readonly()
      .optional(),
    /** Above this time nothing can be read, because the source has gone back; undefined if it has not. */
    ceiling: z.number().optional(),
    waitingFor: z.string().nullable(),
  }),
};

type Name = keyof typeof SCHEMAS;
export type Settings = { readonly [N in Name]: z.output<(typeof SCHEMAS)[N]> };

/** The same schemas, typed so that a name decides the type of its value. */
const READERS: { readonly [N in Name]: z.ZodType<Settings[N]> } = SCHEMAS;

/** The value of a setting; undefined if there is none. */
export async function readSetting<N extends Name>(
  session: Session,
  name: N,
): Promise<Settings[N] | undefined> {
  const [row] = await session.rows(
    sql`select ${settings.value} from ${settings} where ${settings.name} = ${name}`,
    z.object({ value: z.unknown() }),
  );
  return row === undefined ? undefined : READERS[name].parse(row.value);
}

/** `where`: a condition on the stored row under which the new value replaces it. */
export async function keepSetting<N extends Name>(
  session: Session,
  name: N,
  value: Settings[N],
  where = sql`true`,
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
  await keepSetting(session, 'watermark', watermark, where);
}

/** The watermark that another process found, and the newest block that it saw; undefined before the first. */
export async function readFoundWatermark(
  session: Session,
): Promise<(SavedWatermark & { readonly newest: number }) | undefined> {
  const saved = await readSetting(session, 'watermark');
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
