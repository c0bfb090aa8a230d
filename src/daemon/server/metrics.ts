import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from 'prom-client';
import type { Stats } from '../../api/attempt.ts';
import type { PageEvent } from '../../crawl/crawl-context.ts';
import { version } from '../../package.ts';
import { PRIORITIES } from '../../budget/request-budget.ts';
import { lengthOf } from '../../range.ts';
import { ageOf } from '../../status/report.ts';
import type { Snapshot } from '../../status/snapshot.ts';

/** Seconds: from a page that comes at once to one at which the server nearly times out. */
const PAGE_SECONDS = [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];

/** Default gauges of the library with names of counters. Other metrics show the same by type. */
const MISNAMED = ['handles', 'requests', 'resources'] as const;

export type Metrics = ReturnType<typeof createMetrics>;

/** Metrics of this process and of its database. Each help text says what a high value means and where to look next. */
export function createMetrics(stats: Stats) {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry, prefix: 'toncenter_etl_' });
  for (const name of MISNAMED) registry.removeSingleMetric(`toncenter_etl_nodejs_active_${name}_total`);
  const pages = pageMetrics(registry);
  countRequests(registry, stats);
  const state = stateMetrics(registry);
  return {
    contentType: registry.contentType,
    /** Counts a committed page. */
    onPage: ({ dataset, records, bytes, ms }: PageEvent) => {
      pages.rows.inc({ dataset }, records);
      pages.bytes.inc({ dataset }, bytes);
      pages.seconds.observe({ dataset }, ms / 1000);
    },
    /** The text for Prometheus. If the snapshot is undefined, the database is down, and metrics from it are omitted. */
    render: (snapshot: Snapshot | undefined) => {
      state.show(snapshot);
      return registry.metrics();
    },
  };
}

function pageMetrics(registry: Registry) {
  const registers = [registry];
  const labelNames = ['dataset'] as const;
  return {
    rows: new Counter({
      name: 'toncenter_etl_rows_total',
      registers,
      labelNames,
      help: 'Records committed by this process since it started. A high rate is a backfill; no growth for minutes while lag grows means that the crawl waits: look at toncenter_etl_budget_paused_seconds, then at the log.',
    }),
    bytes: new Counter({
      name: 'toncenter_etl_page_bytes_total',
      registers,
      labelNames,
      help: 'Bytes of committed pages on the wire, mostly compressed. High with few rows means large records: look at etl.pages for their requests.',
    }),
    seconds: new Histogram({
      name: 'toncenter_etl_page_seconds',
      registers,
      labelNames,
      buckets: PAGE_SECONDS,
      help: 'Time from sending a request to the end of its body. High means that the source or the network is slow: look at etl.pages (ms by request) and at the status of the source.',
    }),
  };
}

/** The client counts these already; they are copied when the metrics are read. */
function countRequests(registry: Registry, stats: Stats): void {
  const counters = {
    requests:
      'Requests sent by this process, including retries. High means that the budget is used, as intended: look at toncenter_etl_lag_seconds to see whether it suffices.',
    refused:
      'Requests that the server refused because of their rate (429). High means that the plan is smaller than TONCENTER_RPS, or that other processes use the key: look at toncenter_etl_budget_rate and lower TONCENTER_RPS.',
    retries:
      'Attempts after a failed one. High means that the source is failing: look at the log for "request failed, retrying" and at etl.failures.',
    bytes:
      'Bytes received over the wire, mostly compressed. High means much traffic: look at toncenter_etl_page_bytes_total for the dataset that causes it.',
  } as const;
  for (const counter of ['requests', 'refused', 'retries', 'bytes'] as const) {
    new Counter({
      name: `toncenter_etl_api_${counter}_total`,
      help: counters[counter],
      labelNames: ['priority'],
      registers: [registry],
      collect() {
        this.reset();
        for (const priority of PRIORITIES) this.inc({ priority }, stats.byPriority[priority][counter]);
      },
    });
  }
}

function stateMetrics(registry: Registry) {
  const gauges = new Map(
    Object.entries(STATE).map(([name, [labelNames, help]]) => [
      name,
      new Gauge({ name: `toncenter_etl_${name}`, help, labelNames, registers: [registry] }),
    ]),
  );
  new Gauge({
    name: 'toncenter_etl_info',
    help: 'Always 1; its label names the version of this program. High or low means nothing: look at the label after an upgrade.',
    labelNames: ['version'],
    registers: [registry],
  }).set({ version }, 1);
  const set = (name: keyof typeof STATE, labels: Readonly<Record<string, string>>, value: number) =>
    gauges.get(name)?.set(labels, value);
  return {
    show(snapshot: Snapshot | undefined): void {
      for (const gauge of gauges.values()) gauge.reset();
      set('database_up', {}, snapshot === undefined ? 0 : 1);
      set('ready', {}, snapshot?.readiness.ready === true ? 1 : 0);
      if (snapshot === undefined) return;
      if (snapshot.head !== null) {
        set('head_age_seconds', {}, snapshot.head.age);
        set('watermark_age_seconds', {}, ageOf(snapshot.head.watermark, snapshot.at));
      }
      showDatasets(snapshot, set);
      showCollections(snapshot, set);
      if (snapshot.disk !== null) {
        set('disk_free_bytes', {}, snapshot.disk.free);
        set('disk_needed_bytes', {}, snapshot.disk.minFree);
      }
      if (snapshot.lake !== null) {
        set('lake_age_seconds', {}, snapshot.lake.age);
        set('lake_failing', {}, snapshot.lake.error === null ? 0 : 1);
      }
      showBudget(snapshot, set);
    },
  };
}

type Set = (name: keyof typeof STATE, labels: Readonly<Record<string, string>>, value: number) => void;

function showCollections({ at: now, collections, walkLimits, startedAt }: Snapshot, set: Set): void {
  for (const { dataset, title: walk, seconds } of walkLimits) {
    set('collection_age_limit_seconds', { dataset, walk }, seconds);
    // It should have been read since this process began.
    set('collection_age_seconds', { dataset, walk }, ageOf(startedAt, now));
  }
  for (const { dataset, rows, walks, quarantined } of collections) {
    for (const { title: walk, at } of walks)
      if (at !== null) set('collection_age_seconds', { dataset, walk }, ageOf(at, now));
    set('quarantined_records', { dataset }, quarantined);
    for (const { table, rows: count } of rows) set('table_rows', { dataset, table }, count);
  }
}

function showDatasets({ datasets, lagLimits }: Snapshot, set: Set): void {
  for (const [dataset, limit] of Object.entries(lagLimits)) set('lag_limit_seconds', { dataset }, limit);
  for (const { dataset, lag, covered, verified, missing, holes, refused, quarantined, rows } of datasets) {
    if (lag !== null) set('lag_seconds', { dataset }, lag);
    set('covered_seconds', { dataset }, lengthOf(covered));
    set('verified_seconds', { dataset }, lengthOf(verified));
    set('missing_seconds', { dataset }, lengthOf(missing));
    set('holes', { dataset }, holes.length);
    set('quarantined_records', { dataset }, quarantined);
    for (const reason of new Set(refused.map((range) => range.reason))) {
      const spans = refused.filter((range) => range.reason === reason).flatMap(({ span }) => span);
      set('refused_seconds', { dataset, reason }, lengthOf(spans));
    }
    for (const { table, rows: count } of rows) set('table_rows', { dataset, table }, count);
  }
}

function showBudget({ spending }: Snapshot, set: Set): void {
  for (const { host, plan, rate, paused } of spending.budgets) {
    set('budget_plan', { host }, plan);
    set('budget_rate', { host }, rate);
    set('budget_paused_seconds', { host }, paused);
  }
  for (const { host, worker, priority, lastMinute } of spending.spent)
    set('budget_spent', { host, worker, priority }, lastMinute);
  for (const { worker, waiting } of spending.workers)
    for (const [priority, count] of Object.entries(waiting))
      set('waiting_requests', { worker, priority }, count);
}

/** State that the database knows, the same from every process: one gauge each, with labels and help. */
const STATE = {
  database_up: [
    [],
    'Whether the database answers in time: 1 or 0. A high value is good. If it is 0, the database is down or slow: look at Postgres, its locks, and DATABASE_URL.',
  ],
  ready: [
    [],
    'Whether everything wanted is stored: 1 or 0. A high value is good. If it is 0, look at /ready.',
  ],
  head_age_seconds: [
    [],
    'Age of the newest masterchain block seen. High means that the source has stopped or is unreachable: look at the source’s own status, then at the log for "not available".',
  ],
  watermark_age_seconds: [
    [],
    'Age of the time below which no row can still appear. High with a recent head means that a block or a shard is late: look at waitingFor in /status.',
  ],
  lag_seconds: [
    ['dataset'],
    'Seconds between the end of the covered range and now. High means that the tail does not keep up: look at toncenter_etl_budget_rate, then at toncenter_etl_head_age_seconds.',
  ],
  lag_limit_seconds: [
    ['dataset'],
    'Lag above which the dataset counts as behind: its own delay plus the tolerance. A high value is by design if an endpoint lags; look at toncenter_etl_lag_seconds beside it.',
  ],
  collection_age_seconds: [
    ['dataset', 'walk'],
    'Seconds since a list, a look-up, a history or a sample was last read; since this process began, if it never was. High (above toncenter_etl_collection_age_limit_seconds) means that it is not read: look at the collections in /status, at their last error, and at the budget.',
  ],
  collection_age_limit_seconds: [
    ['dataset', 'walk'],
    'Age above which a chosen list, look-up, history or sample counts as not read: three of its rounds and a quarter of an hour. A high value is by design if it is read seldom; look at toncenter_etl_collection_age_seconds beside it.',
  ],
  disk_free_bytes: [
    [],
    'Free bytes on the disk of the embedded database; absent for another server. A high value is good. Near toncenter_etl_disk_needed_bytes, the crawl is about to pause: look at ETL_RETENTION and at other files on the disk.',
  ],
  disk_needed_bytes: [
    [],
    'Bytes of ETL_MIN_FREE, below which the crawl pauses. High means that it pauses early: look at toncenter_etl_disk_free_bytes.',
  ],
  lake_age_seconds: [
    [],
    'Seconds since the lake of ETL_LAKE last had everything covered. High means that it is not written: look at toncenter_etl_lake_failing, and at the log for "the lake cannot be written".',
  ],
  lake_failing: [
    [],
    'Whether the last round of writing the lake failed: 1 or 0. High means that its storage is unreachable or full: look at the lake in /status.',
  ],
  covered_seconds: [
    ['dataset'],
    'Seconds of chain time that are stored. A high value is good; a fall means that holes were found: look at the log for "rows were deleted" or "reading holes again".',
  ],
  verified_seconds: [
    ['dataset'],
    'Seconds of chain time that were proved or cross-checked. A high value is good; a value far below covered means that verification is behind: look at etl.verifications.',
  ],
  missing_seconds: [
    ['dataset'],
    'Seconds since ETL_SINCE that are not stored. High during a first backfill is normal; if it stays high, the budget does not suffice: look at plan, or at toncenter_etl_refused_seconds.',
  ],
  holes: [
    ['dataset'],
    'Holes between the first and the last covered second. If it stays high, ranges cannot be read: look at etl.refused and at status.',
  ],
  refused_seconds: [
    ['dataset', 'reason'],
    'Seconds that could not be read and are retried later. High means failures of the kind in the label reason: look at status for the answers of the source.',
  ],
  quarantined_records: [
    ['dataset'],
    'Records that do not fit their schema. High means that the API has changed: look at path and reason in etl.quarantine; a newer version may accept them.',
  ],
  table_rows: [
    ['dataset', 'table'],
    'Rows of a table, as Postgres estimates. High means a large table: look at ETL_RETENTION, and at toncenter_etl_missing_seconds for rows to come.',
  ],
  budget_plan: [
    ['host'],
    'Requests a second that the plan allows, over all processes. High means a large plan, which must be that of the key: look at TONCENTER_RPS.',
  ],
  budget_rate: [
    ['host'],
    'Requests a second that may be sent now, at most the plan. A high value (near the plan) is good; low means that the server refused: look at toncenter_etl_api_refused_total.',
  ],
  budget_paused_seconds: [
    ['host'],
    'Seconds for which no requests are sent, because the server asked for a pause. High means Retry-After or a run of 429: look at status for the last refusal.',
  ],
  budget_spent: [
    ['host', 'worker', 'priority'],
    'Requests in the last whole minute by process and purpose. High for one process means that it uses up the budget: look at etl.leases for what it reads.',
  ],
  waiting_requests: [
    ['worker', 'priority'],
    'Requests that wait for the budget. High is normal in a backfill; high for the tail means that the plan is too small for the freshness: look at ETL_FRESHNESS and ETL_DATASETS.',
  ],
} as const satisfies Record<string, readonly [readonly string[], string]>;
