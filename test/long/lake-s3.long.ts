import { spawn, spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { once } from 'node:events';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { LakeBusyError } from '../../src/errors.ts';
import { s3Store } from '../../src/lake/store/s3-store.ts';
import { openCrawledStore } from '../support/database/crawled-store.ts';
import { openTestStore } from '../support/database/database.ts';
import { exported, imported, verified } from '../support/lake.ts';
import { twoDays } from '../support/two-days.ts';

/*
 * A lake in a bucket of moto, a server that answers as S3 does, conditional writes included. `pip install "moto[server]"`
 * brings it; `PYTHON` names the interpreter that has it.
 */

const PYTHON = process.env['PYTHON'] ?? 'python3';
const isThere = spawnSync(PYTHON, ['-c', 'import moto.server']).status === 0;
if (!isThere) console.warn(`skipped: ${PYTHON} cannot import moto.server`);

const ALL = { from: '2026-01-31', to: '2026-02-02', only: ['blocks', 'transactions', 'traces'] };

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  server.close();
  return typeof address === 'object' && address !== null ? address.port : 0;
}

test.skipIf(!isThere)(
  'a bucket is a lake as a directory is',
  async () => {
    const url = `http://127.0.0.1:${await freePort()}`;
    const moto = spawn(PYTHON, ['-m', 'moto.server', '-p', url.replace(/.*:/, '')], { stdio: 'ignore' });
    const folder = await mkdtemp(join(tmpdir(), 'toncenter-etl-s3-'));
    const source = await openCrawledStore(twoDays);
    const target = await openTestStore();
    Object.assign(process.env, {
      AWS_ENDPOINT_URL_S3: url,
      AWS_REGION: 'us-east-1',
      AWS_ACCESS_KEY_ID: 'test',
      AWS_SECRET_ACCESS_KEY: 'test',
    });
    try {
      while ((await fetch(`${url}/lake`, { method: 'PUT' }).catch(() => undefined))?.ok !== true)
        await delay(100);

      const store = await s3Store('s3://lake/single', (name) => join(folder, name));
      expect(await store.create('a/b', 'first')).toBe(true);
      expect(await store.create('a/b', 'second')).toBe(false);
      expect(await store.read('a/b')).toBe('first');
      const bytes = randomBytes(40_000_000);
      await writeFile(join(folder, 'large'), bytes);
      await store.put('a/large', join(folder, 'large'));
      const fetched = await store.fetch('a/large');
      expect((await readFile(fetched?.path ?? '')).equals(bytes)).toBe(true);
      expect((await store.list('a/')).map(({ name }) => name)).toEqual(['a/b', 'a/large']);
      await store.remove('a/large');
      expect(await store.fetch('a/large')).toBeUndefined();
      await expect((await s3Store('s3://absent', String)).read('x')).rejects.toThrow(/s3:\/\/absent/);

      const out = 's3://lake/of/ton';
      const run = () => exported(source.url, { ...ALL, format: 'parquet', out });
      const ends = await Promise.allSettled([run(), run()]);
      for (const end of ends)
        expect(end).toSatisfy(() => end.status === 'fulfilled' || end.reason instanceof LakeBusyError);
      expect((await run()).code).toBe(0);
      expect((await run()).printed.filter((line) => line.startsWith('written'))).toEqual([]);
      expect(await verified(out)).toEqual({ code: 0, printed: [] });
      expect((await imported(target.url, { ...ALL, lake: out })).printed.length).toBeGreaterThan(1);
      // What is there is not brought again.
      const again = await imported(target.url, { ...ALL, lake: out });
      expect(again.printed.filter((line) => !line.startsWith('not in the lake'))).toEqual([]);
    } finally {
      moto.kill();
      await target.close();
      await source.close();
      await rm(folder, { recursive: true });
    }
  },
  600_000,
);
