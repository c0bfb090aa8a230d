import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openCli, type Cli } from '../support/program/cli.ts';
import { openTestStore } from '../support/database/database.ts';

const RANGE = ['--from', '2026-05-01', '--to', '2026-05-01T00:05Z', '--only', 'transactions'];
/** Nothing listens there. */
const NOWHERE = '127.0.0.1:1';

let cli: Cli;
beforeAll(async () => {
  cli = await openCli();
});
afterAll(() => cli.close());

describe('an unavailable service is retried, then exit 75', () => {
  test.concurrent('the database', async () => {
    const { code, stderr } = await cli.run(['backfill', ...RANGE], {
      DATABASE_URL: `postgres://me:secret@${NOWHERE}/x`,
      ETL_ATTEMPTS: '2',
    });
    expect(stderr).toContain('cannot reach the database');
    expect(stderr).toContain('DATABASE_URL');
    expect(stderr).not.toContain('secret');
    expect(code).toBe(75);
  });

  test.concurrent('the database to promote to', async () => {
    const store = await openTestStore();
    const { code, stderr } = await cli.run(['promote', `postgres://me:secret@${NOWHERE}/x`], {
      DATABASE_URL: store.url,
      ETL_ATTEMPTS: '1',
    });
    await store.close();
    expect(stderr).toMatch(/^hint: .* the URL after `promote` is right/m);
    expect(stderr).not.toMatch(/DATABASE_URL|secret/);
    expect(code).toBe(75);
  });

  test.concurrent('the API', async () => {
    const store = await openTestStore();
    const { code, stderr } = await cli.run(['backfill', ...RANGE], {
      DATABASE_URL: store.url,
      TONCENTER_NETWORK: `http://${NOWHERE}`,
      ETL_ATTEMPTS: '2',
    });
    await store.close();
    expect(stderr).toContain('request failed, retrying');
    expect(stderr).toContain('error: GET /api/v3/masterchainInfo');
    expect(code).toBe(75);
  });
});
