import { join } from 'node:path';
import { systemClock, createOutageLog, OUTAGE, retry, type RetryOptions } from '../clock.ts';
import { type Database, openDatabase } from '../postgres/database.ts';
import { migrate, requireSchema } from '../migrate/migrate.ts';
import { rowsHiddenFrom } from '../migrate/reader.ts';
import type { EmbeddedServer } from '../embedded/embedded.ts';
import { present, WrongDatabaseError } from '../errors.ts';
import type { Logger } from '../logger.ts';
import { keepSetting, readSetting } from '../ledger/stored-settings.ts';
import { type Config, dataDirOf, requireDataDir } from '../settings/config.ts';
import { callWith, quote } from '../terminal/program-name.ts';

interface Opening {
  /** Whether the schema is brought up to date. If not, it must be; with `if new`, it is created if there is none. */
  readonly migrates: boolean | 'if new';
  /** Called when the server has started, while migrations are pending. */
  readonly meanwhile?: (() => void) | undefined;
}

/** The database of the settings, with this program's schema. */
export interface Store {
  readonly database: Database;
  /** The URL of the database, with its password. */
  readonly url: string;
  /** The embedded server, for people and other programs to connect to; undefined if `DATABASE_URL` is set. */
  readonly embedded: { readonly url: string; readonly dataDir: string } | undefined;
  close(): Promise<void>;
  /** Stops the embedded server if no other process uses it, without waiting for running statements. */
  abandon(): Promise<void>;
}

/**
 * Connects to `DATABASE_URL`, or starts (or joins) the embedded server. Then it updates the schema, or
 * requires that it is up to date.
 */
export async function openStore(
  config: Config,
  logger: Logger,
  applicationName = 'toncenter-etl',
  opening: Opening = { migrates: true },
): Promise<Store> {
  callWith(environmentOf(config));
  const embedded =
    config.databaseUrl === undefined ? await openOwn(requireDataDir(config), logger, opening) : undefined;
  const url = config.databaseUrl ?? present(embedded?.url, 'the URL of the embedded server');
  try {
    const database = await connect({ url, applicationName }, config.attempts, logger, opening);
    callWith(environmentOf(config, (await readSetting(database, 'caller'))?.network));
    return {
      database,
      url,
      embedded,
      close: async () => {
        await database.close();
        await embedded?.close();
      },
      abandon: async () => embedded?.close(),
    };
  } catch (error) {
    await embedded?.close();
    throw error;
  }
}

/** The variable that chooses the network of the settings; nothing for mainnet. A URL's path may have a key: left out. */
function networkOf({ network, baseUrl }: Config): string {
  const isHost = baseUrl !== undefined && new URL(baseUrl).origin === baseUrl;
  const source = network !== 'custom' ? network : isHost ? baseUrl : undefined;
  return source === undefined || source === 'mainnet' ? '' : `TONCENTER_NETWORK=${source} `;
}

/** The variables with which a command finds the network and this database. The last crawl knows the network best. */
function environmentOf(config: Config, network = networkOf(config)): string {
  const { databaseUrl, dataDir } = config;
  const isElsewhere = databaseUrl === undefined && dataDir !== undefined && dataDir !== dataDirOf(undefined);
  return `${network}${isElsewhere ? `ETL_DATA_DIR=${quote(dataDir)} ` : ''}`;
}

/** Stores how this process was called, for the commands that hints of later processes and of SQL name. */
export async function keepCaller(database: Database, config: Config): Promise<void> {
  const environment = environmentOf(config);
  await keepSetting(database, 'caller', { environment, network: networkOf(config) });
  callWith(environment);
}

/** Imported here because it is not needed with another server. Read-only commands create no database. */
async function openOwn(dataDir: string, logger: Logger, { migrates }: Opening): Promise<EmbeddedServer> {
  const { hasData, openEmbedded } = await import('../embedded/embedded.ts');
  if (migrates === false && !(await hasData(dataDir))) {
    const demo = join(dataDir, 'demo');
    throw new WrongDatabaseError(`nothing was crawled yet: there is no database in ${dataDir}`, {
      hint: (await hasData(demo))
        ? `demo keeps its rows elsewhere: set ETL_DATA_DIR=${demo}. \`toncenter-etl backfill\` or \`sync\` create a database here.`
        : 'Run `toncenter-etl backfill` or `sync`, which create it, or `migrate` alone; or name another one with DATABASE_URL or ETL_DATA_DIR.',
    });
  }
  return openEmbedded({ dataDir, logger });
}

/** Waits for a server that is starting, failing over, or read-only for a while. */
function connect(
  where: Parameters<typeof openDatabase>[0],
  attempts: number,
  logger: Logger,
  { migrates, meanwhile }: Opening,
): Promise<Database> {
  const outage = createOutageLog(logger, systemClock);
  const onRetry: RetryOptions['onRetry'] = (failure) => outage.waits('the database', failure);
  const options = { ...OUTAGE, attempts, clock: systemClock, random: Math.random, onRetry };
  return retry(options, async () => {
    const database = await openDatabase(where);
    try {
      await (migrates === false
        ? requireSchema(database)
        : migrate(database, { meanwhile, onlyIfNew: migrates === 'if new' }));
      await warnOfHiddenRows(database, logger);
      return database;
    } catch (error) {
      await database.close();
      throw error;
    }
  });
}

/** Warns if row-level security hides rows from the role: counts and checks would report them missing. */
export async function warnOfHiddenRows(database: Database, logger: Logger): Promise<void> {
  const [first, ...others] = await rowsHiddenFrom(database);
  if (first !== undefined)
    logger.warn({ reason: first, found: others.length + 1 }, 'this role does not see all rows');
}
