import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { expect } from 'vitest';
import { type Clock, systemClock } from '../../src/clock.ts';
import { runDaemon } from '../../src/daemon/daemon.ts';
import { createSummaryLoop } from '../../src/commands/sync-command.ts';
import { chooseDatasets, splitKinds } from '../../src/dataset/dataset.ts';
import { loadDatasets } from '../../src/dataset/load-jobs.ts';
import { DAY } from '../../src/range.ts';
import { createSnapshots } from '../../src/status/snapshot.ts';
import { htmlResponse } from '../../src/simulator/http/response.ts';
import type { Stop } from '../../src/stop.ts';
import { select } from '../support/collections.ts';
import { openTestCrawl, testConfig } from '../support/crawl.ts';
import { openTestStore, type TestStore } from '../support/database/database.ts';
import { keptLog } from '../support/program/log-lines.ts';
import { startSimulator, type SimulatorOptions } from '../support/simulator/simulator.ts';
import { thorough } from '../support/thorough.ts';

/** Requests a second: far fewer than all loops together want. */
const RPS = 30;
/** Pauses of a minute are this many times shorter, so that every idle loop soon wants something again. */
const HASTE = 40;
/** A loop that pauses for an hour wants something again, too; one that pauses for seconds is fast enough. */
const hasteOf = (ms: number) => (ms > 600_000 ? 25 * HASTE : ms < 5000 ? 4 : HASTE);
const NAMES = ['blocks', 'transactions', 'jetton_transfers'];
const COLLECTIONS = [
  'shard_states',
  'account_transactions',
  'account_states',
  'address_book',
  'jetton_masters',
  'masterchain_heads',
];
const ENDLESS_LIST = '/api/v3/jetton/masters';

const hasty: Clock = {
  now: () => systemClock.now(),
  monotonic: () => HASTE * systemClock.monotonic(),
  sleep: (ms, signal) => systemClock.sleep(ms / hasteOf(ms), signal),
};

/** Makes look-ups, lists and pages long, so that the work of each never ends within a test. */
function endlessly(): Pick<SimulatorOptions, 'before' | 'after'> {
  let first: ReturnType<NonNullable<SimulatorOptions['after']>> | undefined;
  return {
    // A gateway that takes only short queries: a few subjects a request.
    before: ({ search }) => (search.toString().length > 3000 ? htmlResponse(414, 'URI Too Long') : undefined),
    // An endless list: its first page again and again.
    after: ({ path }, response) => {
      if (path !== ENDLESS_LIST || response.status !== 200) return response;
      first ??= response;
      return first;
    },
  };
}

/** Values that change when the loops of the daemon advance, by the loop's name. */
async function readMarks(store: TestStore): Promise<Map<string, string>> {
  const rows = await select(
    store,
    `select 'tail of ' || dataset as loop, upper(covered)::text as mark from etl.coverage where pass = 0
     union all select 'walk ' || dataset || '/' || split_part(scope, ':', 1), max(updated_at)::text from etl.cursors group by 1
     union all select name, case name when 'lake' then value ->> 'upTo' else updated_at::text end
       from etl.settings where name in ('watermark', 'lake', 'floors')
     union all select 'verification', max(id)::text from etl.verifications
     union all select 'heartbeat', max(seen_at)::text from etl.workers
     union all select 'backfill', count(*)::text from etl.pages
       where upper(span) < extract(epoch from now()) - 4000 and dataset = 'transactions'`,
  );
  return new Map(rows.map(({ loop, mark }) => [String(loop), String(mark)]));
}

thorough('no loop of the daemon waits for the end of another, however much each has to do', async () => {
  const store = await openTestStore();
  const lake = mkdtempSync(join(tmpdir(), 'toncenter-etl-starvation-'));
  const now = Math.floor(Date.now() / 1000);
  const network = { start: now - 2 * 3600, load: 0.4, accounts: 800, live: { head: now } };
  const simulator = await startSimulator({ ...network, ...endlessly() });
  const [finishing, over] = [new AbortController(), new AbortController()];
  const stop: Stop = { finishing: finishing.signal, leaving: new AbortController().signal };
  const config = testConfig({
    since: 'first',
    watermarkDelaySeconds: 4,
    freshnessSeconds: 1,
    rps: RPS,
    lake,
    choices: { accounts: 'seen', bocs: false },
    retention: { seconds: new Map([['blocks', 60 * DAY]]), isInLake: false },
  });
  const { logger, records } = keptLog('info');
  const crawl = await openTestCrawl(store, simulator.url, { stop, config, logger });
  const all = await loadDatasets();
  // Pages are small, so that history has more of them than are read here.
  const datasets = splitKinds(chooseDatasets(NAMES, all)).streams.map(({ name, job }) => ({
    name,
    job: { ...job, paginator: { ...job.paginator, maxSize: 200 } },
  }));
  const { collections } = splitKinds(chooseDatasets(COLLECTIONS, all));
  const context = { ...crawl.context, clock: hasty };
  const snapshot = createSnapshots({ context, datasets, jobs: all, config });
  const summary = createSummaryLoop({ clock: hasty, logger, api: context.api, snapshot });
  const running = [
    runDaemon({ ...crawl, context, datasets, collections, config, stop }).finally(() => over.abort()),
    summary.run(finishing.signal),
  ];
  const seen = new Map<string, Set<string>>();
  const note = (loop: string, mark: string) => seen.set(loop, (seen.get(loop) ?? new Set()).add(mark));
  const lines = (text: string) => records.filter(({ msg }) => String(msg).startsWith(text)).length;
  const look = async () => {
    for (const [loop, mark] of await readMarks(store)) note(loop, mark);
    note('summaries', String(lines('summary of the last minute')));
    // There is always a hole to find, and to read again.
    await store.database.script(
      `update etl.coverage set verified = verified - n.gone, covered = covered - n.gone
       from (select int8multirange(int8range(max(upper(covered)) - 1, max(upper(covered)))) as gone from etl.coverage
         where dataset = 'transactions') n
       where dataset = 'transactions'`,
    );
  };
  const expected = [
    ...datasets.map(({ name }) => `tail of ${name}`),
    ...collections.flatMap(({ name, job }) => job.walks.map((walk) => `walk ${name}/${walk.name}`)),
    ...['watermark', 'lake', 'floors', 'verification', 'heartbeat', 'backfill', 'summaries'],
  ];
  // A sample is taken once a minute of real time, and writing a lake takes seconds.
  const isSlow = (loop: string) => /heads|lake|floors/.test(loop);
  const least = (loop: string) => (isSlow(loop) ? 2 : 3);
  const stuck = () => expected.filter((loop) => (seen.get(loop)?.size ?? 0) < least(loop));
  try {
    // An account with a history of many pages, and others after it.
    await store.database.script(
      `insert into etl.watch (address) values ${simulator.truth
        .entities()
        .balances()
        .slice(0, 30)
        .map(({ account }) => `('${account}')`)
        .join()}`,
    );
    // It ends in seconds, or never: on a busy machine it may take longer, and a stuck loop is named.
    const end = Date.now() + 240_000;
    while (Date.now() < end && !over.signal.aborted && stuck().length > 0) {
      await look();
      await delay(200);
    }
    expect(stuck()).toEqual([]);
  } finally {
    finishing.abort();
    await Promise.all(running);
    await crawl.close();
    await simulator.close();
    await store.close();
    rmSync(lake, { recursive: true });
  }
});
