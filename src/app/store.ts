import { systemClock } from '../clock.ts';
import { openDatabase, type Database } from '../db/connection/database.ts';
import { migrate } from '../db/migrate/migrate.ts';
import type { EmbeddedServer } from '../embedded/embedded.ts';
import type { Logger } from '../logger.ts';
import { createOutageLog, OUTAGE, retry, type RetryOptions } from '../retry.ts';
import { requireDataDir, type Config } from '../settings/config.ts';

/** Longer after each attempt, milliseconds. */
const CONNECT_PAUSE_MS = 500;

/** The database that the settings mean, migrated. */
export interface Store {
  readonly database: Database;
  /** Of the database, with its password. */
  readonly url: string;
  /** The embedded server, for people and other programs to connect to; undefined where `DATABASE_URL` is set. */
  readonly embedded: { readonly url: string; readonly dataDir: string } | undefined;
  close(): Promise<void>;
  /** Stops the embedded server, if nobody else uses it, without waiting for what is under way here. */
  abandon(): Promise<void>;
}

/**
 * Connects to `DATABASE_URL`, or starts (or joins) the embedded server, and brings the schema up to date. `meanwhile` is
 * called when the server has begun with what is pending of it.
 */
export async function openStore(
  config: Config,
  logger: Logger,
  applicationName = 'toncenter-etl',
  meanwhile: () => void = () => undefined,
): Promise<Store> {
  const embedded =
    config.databaseUrl === undefined ? await openOwn(requireDataDir(config), logger) : undefined;
  const url = config.databaseUrl ?? embedded?.url ?? '';
  try {
    const database = await connect({ url, applicationName }, config.attempts, logger, meanwhile);
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

/** Loaded only here: it is not needed with a server of one's own. */
async function openOwn(dataDir: string, logger: Logger): Promise<EmbeddedServer> {
  const { openEmbedded } = await import('../embedded/embedded.ts');
  return openEmbedded({ dataDir, logger });
}

/** A server that is starting or failing over is back in seconds: it is tried again before it counts as away. */
function connect(
  where: Parameters<typeof openDatabase>[0],
  attempts: number,
  logger: Logger,
  meanwhile: () => void,
): Promise<Database> {
  const delay = ({ attempt }: { readonly attempt: number }) => CONNECT_PAUSE_MS * attempt;
  const outage = createOutageLog(logger, systemClock);
  const onRetry: RetryOptions['onRetry'] = (failure) => outage.waits('the database', failure);
  const options = { ...OUTAGE, delay, attempts, clock: systemClock, random: Math.random, onRetry };
  return retry(options, async () => {
    const database = await openDatabase(where);
    try {
      await migrate(database, meanwhile);
      return database;
    } catch (error) {
      await database.close();
      throw error;
    }
  });
}
