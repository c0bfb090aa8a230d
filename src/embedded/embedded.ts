import { resolve } from 'node:path';
import { systemClock, type Clock } from '../clock.ts';
import type { Logger } from '../logger.ts';
import { findBinaries } from './binaries.ts';
import { openCluster, type Credentials } from './cluster.ts';
import { createCluster } from './create-cluster.ts';
import { translateFailure } from './failure.ts';
import { joinOrStart, type Joined } from './join-or-start.ts';
import { choosePlace, whereDataAre, type ServerPlace } from './data-place.ts';
import { stopPostmaster } from './postmaster.ts';
import { DATABASE, SUPERUSER, type ServerSettings } from './server-settings.ts';
import { reachableBinaries, SHELTERS } from './shelter.ts';

export interface EmbeddedOptions {
  /** Made where absent. Must hold nothing but this database. */
  readonly dataDir: string;
  readonly logger?: Logger;
  readonly signal?: AbortSignal;
  /** The only port to start on. Default: the one of the last start, else the next free one. */
  readonly port?: number;
  /** Settings that win over this program's own; they count when this call starts the server. */
  readonly settings?: ServerSettings;
  readonly clock?: Clock;
  /** The directory with Postgres' bin, lib and share. Default: the package that npm installed for this platform. */
  readonly native?: string;
  /** Where root keeps what the server's user cannot reach. Default: below /var/lib, else the directory for temporary files. */
  readonly shelters?: readonly string[];
}

/** An open handle on the embedded server. */
export interface EmbeddedServer {
  /** `postgres://user:password@127.0.0.1:port/database`; the same at each start as long as its port is free. */
  readonly url: string;
  readonly port: number;
  /** Where the data are: the directory asked for, or the one that stands for it (absolute). */
  readonly dataDir: string;
  /** Gives the handle up. The last handle of all processes to be closed stops the server and waits until it has ended. */
  readonly close: () => Promise<void>;
}

/**
 * Opens the Postgres of this program's own, kept in `dataDir`: makes it at the first call, starts it where it does not
 * run, joins it where it does, be it another process' or left behind by one that was killed. It runs as long as one
 * handle in any process is open; a process that dies loses its handles, and the next one to come takes the server over.
 *
 * @throws WrongDatabaseError for a directory of another program or another major version, DatabaseError where this
 * system does not let it run, DatabaseUnavailableError where it does not answer; each with a hint.
 */
export async function openEmbedded(options: EmbeddedOptions): Promise<EmbeddedServer> {
  const intended = resolve(options.dataDir);
  try {
    const shelters = options.shelters ?? SHELTERS;
    const installed = await findBinaries(options.native);
    const place = await choosePlace(intended, shelters);
    const binaries = () => reachableBinaries(installed, place.account, shelters);
    const settings = options.settings ?? {};
    const credentials = await openCluster(place, installed.major, async () => {
      if (place.dataDir !== intended)
        options.logger?.warn(
          { intended, dataDir: place.dataDir },
          'the database is kept where its user can enter',
        );
      options.logger?.info(
        { dataDir: place.dataDir },
        'creating the embedded database, which takes some seconds',
      );
      await createCluster({ place, binaries: await binaries(), settings, signal: options.signal });
    });
    const opening = {
      ...options,
      settings,
      place,
      binaries,
      credentials,
      clock: options.clock ?? systemClock,
    };
    return handle(place, credentials, await joinOrStart(opening));
  } catch (error) {
    throw options.signal?.aborted === true ? error : translateFailure(error, intended);
  }
}

/** True if an embedded server has kept data in a directory, or in the one that stands for it. */
export async function hasData(dataDir: string, shelters = SHELTERS): Promise<boolean> {
  return (await whereDataAre(resolve(dataDir), shelters)) !== undefined;
}

function handle(
  { dataDir, pgdata }: ServerPlace,
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
