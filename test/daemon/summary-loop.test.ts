import { expect, test } from 'vitest';
import { createInFlight } from '../../src/budget/request-budget.ts';
import { createStats } from '../../src/api/attempt.ts';
import { createSummaryLoop } from '../../src/commands/sync-command.ts';
import type { Snapshot } from '../../src/status/snapshot.ts';
import { keptLog } from '../support/program/log-lines.ts';
import { manualClock } from '../support/manual-clock.ts';

const DAY_MS = 86_400_000;

const snapshotOf = (facts: Partial<Snapshot>): Snapshot => ({
  version: '0',
  at: 0,
  database: 'a database',
  network: 'mainnet',
  globalId: -239,
  silence: 0,
  hasEnded: false,
  head: null,
  awaited: null,
  gaps: [],
  datasets: [],
  collections: [],
  leases: [],
  spending: { budgets: [], workers: [], spent: [] },
  readiness: { ready: true, reasons: [] },
  lagLimits: {},
  walkLimits: [],
  startedAt: 0,
  activity: [],
  spentMinutes: [],
  quarantine: [],
  disk: null,
  lake: null,
  ...facts,
});

test('a day is a line a minute, and one more for each change of readiness', async () => {
  const clock = manualClock();
  const { logger, records } = keptLog('info');
  const { stats, add } = createStats();
  const stopping = new AbortController();
  let snapshot = (): Promise<Snapshot> => Promise.resolve(snapshotOf({}));
  const loop = createSummaryLoop({
    clock,
    logger,
    api: { stats, inFlight: createInFlight({ rps: 10, clock }) },
    snapshot: () => snapshot(),
  });
  const running = loop.run(stopping.signal);
  const page = { dataset: 'blocks', scope: '', completed: undefined, bytes: 1, ms: 1, writingMs: 1 };
  loop.onPage({ ...page, records: 700 });
  loop.onPage({ ...page, records: 5 });
  add('tail', 'requests', 500);
  add('tail', 'refused', 2);
  await clock.advance(60_000);
  expect(records.map(({ msg }) => msg)).toEqual([
    'ready: everything wanted is there',
    'summary of the last minute',
  ]);
  const spent = { rows: 705, requests: 500, refused: 2, retries: 0 };
  expect(records[1]).toMatchObject({ ...spent, lag: {}, missing: 0, waitingFor: 'the budget' });

  snapshot = () =>
    Promise.resolve(snapshotOf({ readiness: { ready: false, reasons: [{ text: 'blocks: away' }] } }));
  await clock.advance(60_000);
  expect(records[2]).toMatchObject({
    reason: 'blocks: away',
    msg: expect.stringMatching(/^not ready/) as string,
  });
  expect(records[3]).toMatchObject({ rows: 0, requests: 0, refused: 0 });
  expect(records[3]).not.toHaveProperty('waitingFor');

  snapshot = () => Promise.reject(new Error('cannot reach the database: it pauses'));
  await clock.advance(60_000);
  // It was not ready before.
  expect(records[4]).toMatchObject({ waitingFor: 'the database', msg: 'summary of the last minute' });

  records.length = 0;
  snapshot = () => Promise.resolve(snapshotOf({}));
  await clock.advance(DAY_MS);
  expect(records).toHaveLength(1 + DAY_MS / 60_000);
  stopping.abort();
  await running;
});

test('each change between ready and not ready is logged once, whichever loop noticed it, and both changes of a pair are logged', async () => {
  const clock = manualClock();
  const { logger, records } = keptLog('info');
  const { stats } = createStats();
  const stopping = new AbortController();
  let snapshot = (): Promise<Snapshot> => Promise.resolve(snapshotOf({}));
  const loop = createSummaryLoop({
    clock,
    logger,
    api: { stats, inFlight: createInFlight({ rps: 10, clock }) },
    snapshot: () => snapshot(),
  });
  const running = loop.run(stopping.signal);
  const changes = () => records.map(({ msg }) => String(msg)).filter((msg) => /^(not )?ready/.test(msg));
  const [ready, notReady] = ['ready: everything wanted is there', 'not ready: something wanted is missing'];
  await clock.advance(60_000);
  // An outage over the end of a minute that no other loop sees.
  snapshot = () => Promise.reject(new Error('the database is away'));
  await clock.advance(120_000);
  expect(changes()).toEqual([ready, notReady]);
  expect(records.find(({ msg }) => msg === notReady)).toMatchObject({ reason: 'the database is away' });
  snapshot = () => Promise.resolve(snapshotOf({}));
  await clock.advance(60_000);
  // An outage between two minutes that a request to /ready saw.
  loop.onReadiness(false, ['the database did not answer within 5 s']);
  loop.onReadiness(false, ['still']);
  loop.onReadiness(true, []);
  await clock.advance(60_000);
  expect(changes()).toEqual([ready, notReady, ready, notReady, ready]);
  stopping.abort();
  await running;
});
