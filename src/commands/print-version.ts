import { openDatabase, readVersions } from '../postgres/database.ts';
import { findBinaries } from '../embedded/binaries.ts';
import { EtlError, EXIT, type ExitCode, messageOf } from '../errors.ts';
import { schemaVersion, version } from '../package.ts';
import { closeAfter, type Invocation } from './run-command.ts';

/** Builds of the API that this program was made for. */
const BUILDS = '1.2 and 1.3';

/**
 * `--version`: the versions of this program, its schema, Postgres and the API. It starts no server, and asks only one
 * that is named.
 */
export async function printVersion({ config }: Invocation): Promise<ExitCode> {
  console.log(`toncenter-etl  ${version}`);
  console.log(`schema         ${await schemaVersion()}`);
  const { postgres, api } = await serverVersions(config.databaseUrl);
  console.log(`postgres       ${postgres}`);
  console.log(`api            made for builds ${BUILDS}; ${api}`);
  return EXIT.done;
}

async function serverVersions(url: string | undefined): Promise<{ postgres: string; api: string }> {
  const unseen = 'none asked yet';
  if (url === undefined) {
    const postgres = await findBinaries().then(({ major }) => `${major}, embedded`, messageOf);
    return { postgres, api: unseen };
  }
  try {
    const own = { url, applicationName: 'toncenter-etl version', maxConnections: 1 };
    return await closeAfter(await openDatabase(own), async (database) => {
      const { postgres, apiVersion } = await readVersions(database);
      return { postgres: `${postgres}, at ${database.label}`, api: `last seen ${apiVersion ?? unseen}` };
    });
  } catch (error) {
    if (!(error instanceof EtlError)) throw error;
    return { postgres: error.message, api: unseen };
  }
}
