import { readFileSync } from 'node:fs';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { openTestStore } from '../support/database/database.ts';
import { openCli, type Cli } from '../support/program/cli.ts';
import { startSimulator } from '../support/simulator/simulator.ts';

/* Bodies that are small on the wire, and would be hundreds of megabytes of objects. */

const START = Date.UTC(2026, 5, 1) / 1000;
/** A container of 512 MB has room for it. */
const MOST_MB = 400;
const many = (json: string, count: number) => `${json},`.repeat(count) + json;

let cli: Cli;
beforeAll(async () => {
  cli = await openCli();
});
afterAll(async () => {
  await cli.close();
});

/** The peak of a process's resident memory, in MB. */
const mostOf = (pid: number | undefined) => {
  const [, kb = '0'] = /VmHWM:\s*(\d+)/.exec(readFileSync(`/proc/${pid ?? 0}/status`, 'utf8')) ?? [];
  return Number(kb) / 1024;
};

test.skipIf(process.platform !== 'linux').each([
  ['/api/v3/masterchainInfo', `{"blocks":[${many('{}', 20_000_000)}]}`],
  ['/api/v3/blocks', `{"blocks":[${many('{}', 20_000_000)}]}`],
  ['/api/v3/transactions', `{"transactions":[${many('[]', 20_000_000)}]}`],
  ['/api/v3/traces', `{"traces":[{"actions":${many('[1]', 15_000_000).replaceAll('],[', ',')}}]}`],
  ['/api/v3/transactions', `{"transactions":[{"x":${'['.repeat(20_000_000)}${']'.repeat(20_000_000)}}]}`],
])('%s of a small body takes no more memory than any other', async (path, json) => {
  const body = gzipSync(json);
  const headers = { 'content-type': 'application/json', 'content-encoding': 'gzip' };
  const store = await openTestStore();
  let asked = 0;
  const simulator = await startSimulator({
    start: START,
    duration: 1200,
    load: 1,
    accounts: 60,
    before: (request) => {
      if (request.path !== path) return undefined;
      asked += 1;
      return { status: 200, body, headers };
    },
  });
  const running = cli.start(
    [
      'backfill',
      '--from',
      String(START + 60),
      '--to',
      String(START + 300),
      '--only',
      'blocks,transactions,traces',
    ],
    { DATABASE_URL: store.url, TONCENTER_NETWORK: simulator.url, TONCENTER_RPS: '20', ETL_ATTEMPTS: '2' },
  );
  let most = 0;
  const watch = setInterval(() => {
    try {
      most = Math.max(most, mostOf(running.child.pid));
    } catch {
      // It has ended.
    }
  }, 20);
  const { code } = await running.ended;
  clearInterval(watch);
  await simulator.close();
  await store.close();
  console.log(
    path,
    `${body.length} bytes on the wire, ${json.length} of JSON, asked ${asked} times: ${Math.round(most)} MB, exit ${code ?? 'none'}`,
  );
  expect(asked).toBeGreaterThan(0);
  expect(code).not.toBe(0);
  expect(most).toBeLessThan(MOST_MB);
});
