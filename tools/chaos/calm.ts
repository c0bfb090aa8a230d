import { join } from 'node:path';
import type pg from 'pg';
import { backfill } from '../../src/commands/backfill-command.ts';
import type { Invocation } from '../../src/commands/run-command.ts';
import { quarantineRetry } from '../../src/commands/quarantine-command.ts';
import { verify } from '../../src/commands/verify-command.ts';
import { readConfig } from '../../src/settings/config.ts';
import { openDatabase } from '../../src/postgres/database.ts';
import { EXIT, type ExitCode } from '../../src/errors.ts';
import { checkDeep } from '../../src/verify/prove.ts';
import { DEEP } from '../../src/ledger/stored-findings.ts';
import { describeFinding } from '../../src/verify/checks/check.ts';
import { differences } from '../proof/differences.ts';
import { datasetsNamed, openTestCrawl, silent } from '../../test/support/crawl.ts';
import { openProof, type Proof } from '../../test/support/verify.ts';
import { compareCovered, findDoubled, findRounded, truthOf } from './audit.ts';
import { apiOf, DATASETS, directUrl, LOG, settingsOf, withClient, type Run } from './run.ts';
import { within } from './within.ts';
import { lastLine } from './workers.ts';

/** Datasets whose rows do not change: they are compared whenever they are covered. */
const IMMUTABLE = DATASETS.filter((name) => name !== 'actions');
/** Chain seconds behind the range by which everything in it is registered, even if nothing else is generated. */
const TRUTH_TAIL = 150;
const FINISH_ATTEMPTS = 3;
/** A command hangs if it takes longer than this, and longer than a tenth of the storm. */
const LONGEST_S = 60;

/** The findings after the storm. */
export interface Findings {
  /** The problems, in sentences. */
  readonly problems: readonly string[];
  /** Rows that were compared with the truth. */
  readonly rows: number;
  /** Those of them that the workers had left behind, before anything else was read. */
  readonly rowsLeft: number;
  readonly quarantined: number;
}

/**
 * After the storm, coverage must be true as it is. The same program then reads the rest and retries the
 * quarantine, and in the end every table must equal the truth.
 */
export function calm(run: Run): Promise<Findings> {
  return withClient(run, (client) => calmWith(run, client));
}

async function calmWith(run: Run, client: pg.Client): Promise<Findings> {
  const { plan, simulator, spoiler } = run;
  const problems: string[] = [];
  await client.query('update chaos.weather set disk_full = false');
  await client.query(`alter database ${run.name} reset default_transaction_read_only`);
  const truth = truthOf(simulator.truth.extendTo(plan.head.to + TRUTH_TAIL), plan.range);
  const early = { datasets: IMMUTABLE, mayBeEarlier: plan.faults.reorganise !== undefined };
  const left = await compareCovered(client, truth, early);
  problems.push(...left.problems.map((problem) => `as it was left: ${problem}`));
  for (const name of Object.keys(simulator.faults)) Reflect.deleteProperty(simulator.faults, name);
  simulator.headTime = plan.network.start + (plan.network.duration ?? 0);
  problems.push(...(await finish(run, client)));
  const full = await compareCovered(client, truth, early);
  problems.push(...full.problems.map((problem) => `after it was finished: ${problem}`));
  problems.push(...(await findDoubled(client)), ...(await findRounded(client)));
  const quarantined = await countQuarantined(client);
  spoiler.active = false;
  problems.push(...(await retryQuarantine(run)));
  await secondReading(run);
  if (early.mayBeEarlier) problems.push(...(await repairDeeply(run)), ...(await finish(run, client)));
  const healed = await compareCovered(client, truth, { datasets: DATASETS });
  problems.push(...healed.problems.map((problem) => `in the end: ${problem}`));
  if ((await countQuarantined(client)) > 0) problems.push('in the end: records are still in quarantine');
  if (problems.length === 0) problems.push(...(await compareValues(run, client)));
  const rows = left.rows + full.rows + healed.rows;
  return { problems, quarantined, rows, rowsLeft: left.rows };
}

/** True if every dataset covers the whole range. */
async function isCovered(run: Run, client: pg.Client): Promise<boolean> {
  const { from, to } = run.plan.range;
  const { rows } = await client.query(
    `select from etl.coverage where scope = '' and pass = 0 and dataset = any($1) and covered @> int8range($2, $3)`,
    [DATASETS, from, to],
  );
  return rows.length === DATASETS.length;
}

/** Continues the backfill until it reports that nothing is missing. */
async function finish(run: Run, client: pg.Client): Promise<string[]> {
  const { from, to } = run.plan.range;
  let output = '';
  for (let attempt = 1; attempt <= FINISH_ATTEMPTS; attempt += 1) {
    // A rate that was refused during the storm would be retried in half a minute.
    await client.query('delete from etl.budget; update etl.leases set expires_at = clock_timestamp()');
    const flags = { from: String(from), to: String(to), only: DATASETS, quiet: true };
    const result = await carryOut(run, (invocation) => backfill(invocation, flags));
    if (result.code === 0) return [];
    // Records in quarantine make a run incomplete: they are read again later, when the source sends them
    // right.
    const isHeldByRecords = result.code === 3 && (await countQuarantined(client)) > 0;
    if (isHeldByRecords && (await isCovered(run, client))) return [];
    output = result.output;
  }
  return [`the crawl cannot be finished: ${output}`];
}

async function retryQuarantine(run: Run): Promise<string[]> {
  const { code, output: output } = await carryOut(run, (invocation) =>
    quarantineRetry(invocation, [], { again: true }),
  );
  return code === 0 ? [] : [`quarantine cannot be emptied: ${output}`];
}

/** A row from before its block was reorganized can only be found by asking the source. */
async function repairDeeply(run: Run): Promise<string[]> {
  const { from, to } = run.plan.range;
  const flags = { from: String(from), to: String(to), only: DATASETS, deep: '100%', repair: true };
  const { code, output: output } = await carryOut(run, (invocation) => verify(invocation, flags));
  // Rows without a checksum are read again an hour later.
  return code === EXIT.done || code === EXIT.incomplete ? [] : [`a deep repair fails: ${output}`];
}

/** Reclassified actions are replaced by their second reading, which would be due an hour later. */
function secondReading(run: Run): Promise<void> {
  return withProof(run, async (proof) => proof.readAgain(await datasetsNamed('actions'), run.plan.range));
}

async function withProof<T>(run: Run, work: (proof: Proof) => Promise<T>): Promise<T> {
  const url = directUrl(run);
  const database = await openDatabase({ url, applicationName: 'chaos' });
  const store = { url, database, close: () => Promise.resolve() };
  const crawl = await openTestCrawl(store, apiOf(run));
  try {
    return await work(await openProof(store, crawl));
  } finally {
    await crawl.close();
    await database.close();
  }
}

/** Compares every value of every row: with the truth, and in all tables with the source. */
async function compareValues(run: Run, client: pg.Client): Promise<string[]> {
  for (const table of ['transactions', 'blocks', 'messages', 'traces', 'jetton_transfers'])
    await client.query(`update ton.${table} set extra = null where extra is not null`);
  // Actions of unknown types have a member of the source's own.
  await client.query(
    `update ton.actions set extra = jsonb_build_object('raw_action', extra->'raw_action') where extra ? 'raw_action'`,
  );
  await client.query(`update ton.actions set extra = null where not extra ? 'raw_action'`);
  const found = await differences(directUrl(run), run.simulator, run.plan.range, IMMUTABLE);
  const byTruth = [...found]
    .filter(([, seconds]) => seconds.size > 0)
    .map(
      ([dataset, seconds]) =>
        `${dataset}: values differ in ${seconds.size} seconds, such as ${[...seconds][0] ?? ''}`,
    );
  return [...byTruth, ...(await compareWithSource(run))];
}

async function compareWithSource(run: Run): Promise<string[]> {
  return withProof(run, async (proof) => {
    const datasets = await datasetsNamed(...DATASETS);
    const reports = await proof.verify(datasets, run.plan.range);
    const whole = { datasets, share: 1, random: () => 0.5 };
    const { reports: checked, tables } = await checkDeep(proof.context, reports, whole);
    const findings = checked.flatMap((report) => report.findings.filter(({ check }) => check === DEEP));
    const short = tables.filter(({ compared, stored }) => compared < stored);
    return [
      ...findings.map((finding) => `${finding.dataset}: ${describeFinding(finding)}`),
      ...short.map(({ table, compared, stored }) => `${table}: ${compared} of ${stored} rows compared`),
    ];
  });
}

async function countQuarantined(client: pg.Client): Promise<number> {
  const { rows } = await client.query<{ records: number }>(
    'select count(*)::int as records from etl.quarantine',
  );
  return rows[0]?.records ?? -1;
}

/**
 * Runs a command of the program in this process: a separate one, compiled each time, would take most of what
 * a seed costs. Its output goes to the lane's log.
 */
async function carryOut(
  run: Run,
  command: (invocation: Invocation) => Promise<ExitCode>,
): Promise<{ code: ExitCode | undefined; output: string }> {
  // No server lags any more: rows that the workers did not see yet are visible everywhere.
  const settings = { ...settingsOf(run, directUrl(run)), ETL_WATERMARK_DELAY: '0s' };
  const config = readConfig(settings, run.directory);
  const now = Math.floor(Date.now() / 1000);
  try {
    const code = await within(
      Math.max(LONGEST_S, run.plan.seconds / 10),
      command({ config, logger: silent, now }),
      () => 'a command hangs',
    );
    return { code, output: `exit ${code}: ${lastLine(join(run.directory, '..', LOG))}` };
  } catch (error) {
    return {
      code: undefined,
      output: error instanceof Error ? (error.stack ?? error.message) : String(error),
    };
  }
}
