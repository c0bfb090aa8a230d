import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { printStatus } from '../../src/commands/status-command.ts';
import type { DatasetReport, Report } from '../../src/status/report.ts';

const NOW = 1_780_000_000;
const DAY = 86_400;

let lines: string[];
beforeEach(() => {
  lines = [];
  vi.spyOn(console, 'log').mockImplementation((text: string = '') => void lines.push(...text.split('\n')));
});
afterEach(() => {
  vi.restoreAllMocks();
});

const dataset = (name: string, end: number): DatasetReport => ({
  dataset: name,
  since: null,
  covered: [{ from: end - 3600, to: end }],
  verified: [],
  holes: [],
  missing: [],
  rows: [],
  lag: NOW - end,
  isWithoutPools: false,
  quarantined: 0,
  drift: [],
  refused: [],
  errors: [],
  isUnfit: false,
  lastError: null,
});

const report = (facts: Partial<Report>): Report => ({
  at: NOW,
  database: 'a database',
  network: 'mainnet',
  globalId: -239,
  silence: null,
  hasEnded: false,
  head: null,
  awaited: null,
  gaps: [],
  datasets: [],
  collections: [],
  leases: [],
  spending: { budgets: [], workers: [], spent: [] },
  lake: null,
  ...facts,
});

function shown(facts: Partial<Report>): string[] {
  printStatus(report(facts), { pollLag: { seconds: 1, isBoundByRate: false }, restingLags: [] });
  return lines;
}

test('of ranges that are being read the first five of a dataset are printed, and the rest is counted', () => {
  const lease = (name: string) => (_: unknown, index: number) => ({
    dataset: name,
    scope: '',
    pass: 0,
    owner: 'host/1/a',
    priority: 'backfill',
    span: [{ from: NOW - 60 * index - 60, to: NOW - 60 * index }],
  });
  const reading = shown({
    datasets: [dataset('blocks', NOW), dataset('traces', NOW), dataset('actions', NOW)],
    leases: [
      ...Array.from({ length: 217 }, lease('blocks')),
      ...Array.from({ length: 5 }, lease('traces')),
      ...Array.from({ length: 6 }, lease('actions')),
    ] as unknown as Report['leases'],
  }).filter((line) => line.startsWith('reading'));
  expect(reading).toHaveLength(6 + 5 + 6);
  expect(reading[5]).toBe('reading   blocks: and 212 more ranges, 3h 32m');
  expect(reading.at(-1)).toBe('reading   actions: and 1 more ranges, 1m');
});

test('a head that is not known yet is not printed, and the missing block is named', () => {
  const heads = shown({ awaited: 'masterchain block 12' }).filter((line) => line.startsWith('head'));
  expect(heads).toEqual(['head      the watermark is not known yet: waiting for masterchain block 12']);
});

const END = NOW - 328 * DAY;
const head = { seqno: 9, time: END, age: 328 * DAY, watermark: END, waitingFor: null, naming: null };

test.each<[string, Partial<Report>]>([
  ['a simulated network without a daemon', { network: 'the simulated network', globalId: -777 }],
  ['a network whose head does not move while a daemon follows it', { silence: 3, head }],
])('%s has a last block, and no dataset lags by the time since then', (_, facts) => {
  const text = shown({ ...facts, datasets: [dataset('blocks', END), dataset('traces', END - 60)] }).join(
    '\n',
  );
  expect(text).toContain('the chain has stopped: its newest block is of 2025-');
  expect(text).toMatch(/^blocks .* 0s /m);
  expect(text).toMatch(/^traces .* 1m /m);
  expect(text).not.toMatch(/^(blocks|traces) .*328d/m);
});

test.each<[string, Partial<Report>]>([
  ['that backfills keep up', {}],
  ['whose daemon died', { silence: 328 * DAY, head }],
])('of a real network, a database %s lags by the clock', (_, facts) => {
  const text = shown({ ...facts, datasets: [dataset('blocks', END)] }).join('\n');
  expect(text).toMatch(/^blocks .*328d/m);
  expect(text).not.toContain('stands still');
});
