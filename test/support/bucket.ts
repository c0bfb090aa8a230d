import { spawn, spawnSync } from 'node:child_process';
import { copyFile, mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { DuckDBInstance } from '@duckdb/node-api';
import * as z from 'zod';
import { freePort } from './free-port.ts';

/** This Python has moto, a server with the API of S3: `pip install "moto[server]"`. */
const PYTHON = process.env['PYTHON'] ?? 'python3';

export const hasBuckets = spawnSync(PYTHON, ['-c', 'import moto.server']).status === 0;
if (!hasBuckets) console.warn(`skipped: ${PYTHON} cannot import moto.server`);

export interface Bucket {
  readonly url: string;
  /** The environment variables of the vendor's own client. */
  readonly settings: Readonly<Record<string, string>>;
  close(): void;
}

/** A server of buckets, with an empty one called `lake`. */
export async function openBucket(): Promise<Bucket> {
  const url = `http://127.0.0.1:${await freePort()}`;
  const moto = spawn(PYTHON, ['-m', 'moto.server', '-p', url.replace(/.*:/, '')], { stdio: 'ignore' });
  while ((await fetch(`${url}/lake`, { method: 'PUT' }).catch(() => undefined))?.ok !== true) {
    if (moto.exitCode !== null) throw new Error('moto.server has ended');
    await delay(100);
  }
  const settings = {
    AWS_ENDPOINT_URL_S3: url,
    AWS_REGION: 'us-east-1',
    AWS_ACCESS_KEY_ID: 'test',
    AWS_SECRET_ACCESS_KEY: 'test',
    // The warning is about later versions than the one that is used.
    AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED: 'true',
  };
  return { url, settings, close: () => void moto.kill() };
}

const FILE_OF_EXTENSION = `import glob, os, duckdb_extension_httpfs as e
print(glob.glob(os.path.dirname(e.__file__) + '/extensions/*/httpfs.duckdb_extension')[0], end='')`;

/**
 * A home directory in which DuckDB finds its extension `httpfs`; undefined if it is not available. It comes
 * from `pip install duckdb-extension-httpfs` of the same version, or DuckDB fetches it.
 */
export async function homeWithHttpfs(): Promise<string | undefined> {
  const home = await mkdtemp(join(tmpdir(), 'toncenter-etl-home-'));
  const instance = await DuckDBInstance.create(':memory:', { home_directory: home });
  const duck = await instance.connect();
  try {
    const texts = async (query: string) =>
      z
        .array(z.array(z.string()))
        .parse((await duck.runAndReadAll(query)).getRowsJson())
        .flat();
    const [version = '', platform = ''] = await texts(
      'select version(), (select platform from pragma_platform())',
    );
    const { status, stdout } = spawnSync(PYTHON, ['-c', FILE_OF_EXTENSION], { encoding: 'utf8' });
    const folder = join(home, '.duckdb', 'extensions', version, platform);
    await mkdir(folder, { recursive: true });
    if (status === 0 && stdout.includes(`/${version}/`))
      await copyFile(stdout, join(folder, 'httpfs.duckdb_extension'));
    await duck.run('install httpfs; load httpfs');
    return home;
  } catch (error) {
    console.warn(`skipped: DuckDB has no httpfs: ${String(error).split('\n')[0] ?? ''}`);
    await rm(home, { recursive: true, force: true });
    return undefined;
  } finally {
    duck.closeSync();
    instance.closeSync();
  }
}
