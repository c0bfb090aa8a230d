import { expect, test } from 'vitest';
import { createStats } from '../../src/api/stats.ts';
import { createSummaryLoop } from '../../src/daemon/summary-loop.ts';
import type { Snapshot } from '../../src/status/snapshot.ts';
import { keptLog } from '../support/program/log-lines.ts';
import { manualClock } from '../support/manual-clock.ts';

const DAY_MS = 86_400_000;

const snapshotOf = (facts: Partial<Snapshot>): Snapshot => ({
  version: '0',
  at: 0,
  database: 'a database',
  network: 'mainnet',
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
  activity: [],
  spentMinutes: [],
  quarantine: [],
  disk: null,
  lake: null,
  ...facts,
});

test('a day is a line a minute, and one more where it becomes ready or is no longer', async () => {
  const clock = manualClock();
  const { logger, records } = keptLog('info');
  const { stats, add } = createStats();
  const stopping = new AbortController();
  let snapshot = (): Promise<Snapshot> => Promise.resolve(snapshotOf({}));
  const loop = createSummaryLoop({ clock, logger, stats, snapshot: () => snapshot(), rps: 10 });
  const running = loop.run(stopping.signal);
  const page = { dataset: 'blocks', scope: '', completed: undefined, bytes: 1, ms: 1, writingMs: 1 };
  loop.onPage({ ...page, records: 700 });
  loop.onPage({ ...page, records: 5 });
  add('tail', 'requests', 500);
  add('tail', 'refused', 2);
  await clock.advance(60_000);
  expect(records.map(({ msg }) => msg)).toEqual(['ready: everything wanted is there', 'the last minute']);
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

  snapshot = () => Promise.reject(new Error('the database is away: it rests'));
  await clock.advance(60_000);
  expect(records[4]).toMatchObject({ waitingFor: 'the database', msg: 'the last minute' });

  records.length = 0;
  snapshot = () => Promise.resolve(snapshotOf({}));
  await clock.advance(DAY_MS);
  expect(records).toHaveLength(1 + DAY_MS / 60_000);
  stopping.abort();
  await running;
});
