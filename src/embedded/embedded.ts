import { resolve } from 'node:path';
import { systemClock, type Clock } from '../clock.ts';
import type { Logger } from '../logger.ts';
import { findBinaries } from './binaries.ts';
import { openCluster, type Credentials } from './cluster.ts';
import { createCluster } from './create-cluster.ts';
import { translateFailure } from './failure.ts';
import { joinOrStart, type Joined } from './join-or-start.ts';
import { chooseLocation, whereDataAre, type ServerLocation } from './data-location.ts';
import { stopPostmaster } from './postmaster.ts';
import { DATABASE, SUPERUSER, type ServerSettings } from './server-settings.ts';
import { reachableBinaries, FALLBACK_DIRECTORIES } from './fallback-directory.ts';

export interface EmbeddedOptions {
  /** Created if it does not exist. Must contain only this database. */
  readonly dataDir: string;
  readonly logger?: Logger;
  readonly signal?: AbortSignal;
  /** The port to start on. Default: the port of the last start, or else the next free one. */
  readonly port?: number;
  /** Settings that override the defaults. They apply if this call starts the server. */
  readonly settings?: ServerSettings;
  readonly clock?: Clock;
  /** The directory with Postgres' bin, lib and share. Default: the npm package for this platform. */
  readonly native?: string;
  /**
   * Directories for root's data that the server's user must reach. Default: below /var/lib, else below the directory
   * for temporary files.
   */
  readonly fallbacks?: readonly string[];
}

/** An open handle on the embedded server. */
export interface EmbeddedServer {
  /** `postgres://user:password@127.0.0.1:port/database`. It stays the same as long as the port is free. */
  readonly url: string;
  readonly port: number;
  /** The directory of the data (absolute): the one that was asked for, or its fallback. */
  readonly dataDir: string;
  /** Closes the handle. Closing the last handle of all processes stops the server and waits until it has ended. */
  readonly close: () => Promise<void>;
}

/**
 * Opens the embedded Postgres in `dataDir`: creates it at the first call, and starts it if it does not run. It joins a
 * server that another process runs, or that a killed process left behind. The server runs as long as any process has an open handle. A
 * process that dies loses its handles, and the next process takes the server over.
 *
 * @throws WrongDatabaseError for a directory of another program or another major version, DatabaseError if this
 * system cannot run it, DatabaseUnavailableError if it does not answer; each with a hint.
 */
export async function openEmbedded(options: EmbeddedOptions): Promise<EmbeddedServer> {
  const intended = resolve(options.dataDir);
  try {
    const fallbacks = options.fallbacks ?? FALLBACK_DIRECTORIES;
    const installed = await findBinaries(options.native);
    const location = await chooseLocation(intended, fallbacks);
    const binaries = () => reachableBinaries(installed, location.account, fallbacks);
    const settings = options.settings ?? {};
    const credentials = await openCluster(location, installed.major, async () => {
      if (location.dataDir !== intended)
        options.logger?.warn(
          { intended, dataDir: location.dataDir },
          'the database is stored in another directory, because the server user cannot enter the intended one',
        );
      options.logger?.info(
        { dataDir: location.dataDir },
        'creating the embedded database, which takes some seconds',
      );
      await createCluster({ location, binaries: await binaries(), settings, signal: options.signal });
    });
    const opening = {
      ...options,
      settings,
      location,
      binaries,
      credentials,
      clock: options.clock ?? systemClock,
    };
    return handle(location, credentials, await joinOrStart(opening));
  } catch (error) {
    throw options.signal?.aborted === true ? error : translateFailure(error, intended);
  }
}

/** True if an embedded server has data in this directory, or in its fallback. */
export async function hasData(dataDir: string, fallbacks = FALLBACK_DIRECTORIES): Promise<boolean> {
  return (await whereDataAre(resolve(dataDir), fallbacks)) !== undefined;
}

function handle(
  { dataDir, pgdata }: ServerLocation,
  { password }: Credentials,
  { keeper, port }: Joined,
): EmbeddedServer {
  let closing: Promise<void> | undefined;
  return {
    url: `postgresql://${SUPERUSER}:${password}@127.0.0.1:${port}/${DATABASE}`,
    port,
    dataDir,
    close: () => (closing ??= keeper.leave(() => stopPostmaster(pgdata))),
  };
}
