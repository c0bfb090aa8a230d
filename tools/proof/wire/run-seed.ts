import type pg from 'pg';
import { backfill } from '../../../src/commands/backfill-command.ts';
import { quarantineRetry } from '../../../src/commands/quarantine-command.ts';
import { verify } from '../../../src/commands/verify-command.ts';
import { runHere, type CommandTarget, type CommandResult } from '../run-here.ts';
import { RANGE, readAgain } from '../matrix/network.ts';
import { occurrencesOfRow } from '../matrix/occurrences.ts';
import { withClient, type ProvedNetwork } from '../matrix/proved-network.ts';
import { compareRows, readRows, type Differing, type Rows } from '../matrix/rows.ts';
import { isCertified, readCertified } from '../matrix/certified-seconds.ts';
import type { Kind } from './kinds.ts';
import { ofQuietBlocks } from './quiet-blocks.ts';
import type { Wire } from './wire.ts';

/** The outcome of a crawl with some altered responses. */
export interface Outcome {
  readonly kinds: readonly string[];
  /** The kinds that were applied, and the changed values; a kind that was not applied did no harm. */
  readonly done: readonly (readonly [kind: string, where: string])[];
  /** The exit code of the crawl. */
  readonly crawl: number | undefined;
  /** Rows that were wrong after it. */
  readonly harmed: number;
  /** Violations of the promise, in sentences. */
  readonly problems: readonly string[];
}

/** The parts of a run. */
export interface WireRun {
  readonly network: ProvedNetwork;
  readonly kinds: readonly Kind[];
  readonly wire: Wire;
  /** Puts the wire between the network and its reader, and removes it. */
  readonly use: (wire: Wire | undefined) => void;
  /** A migrated database. */
  readonly url: string;
  /** Whether plain `verify` is known not to see such a difference. */
  readonly isKnown: (differing: Differing) => boolean;
}

const GROUND = ['blocks', 'transactions', 'traces'];
/** A command that hangs longer is ended. */
const LONGEST = '40s';

/**
 * Crawls over a wire that alters responses, and compares what is verified, and what a deep repair leaves,
 * with the truth.
 */
export function runWire(run: WireRun): Promise<Outcome> {
  return withClient(run.url, (client) => crawlAndHeal(run, client));
}

async function crawlAndHeal(run: WireRun, client: pg.Client): Promise<Outcome> {
  const { network, kinds, wire, url } = run;
  const target: CommandTarget = { url, source: network.simulator.url };
  const only = [...new Set([...GROUND, ...kinds.map(({ dataset }) => dataset)])];
  const flags = { from: String(RANGE.from), to: String(RANGE.to), only };
  const problems: string[] = [];
  run.use(wire);
  const first = await crawl(target, flags);
  run.use(undefined);
  if (first.code === undefined) problems.push(`the crawl fails: ${last(first)}`);
  // This also runs after a crawl that reports success: if the altered responses made the network look
  // shorter, datasets that stay behind its head were read less far.
  for (let attempt = 0; attempt < 3; attempt += 1) {
    await client.query('delete from etl.refused; delete from etl.budget');
    const { code } = await crawl(target, flags);
    if (code === 0) break;
  }
  await runHere(target, (invocation) => verify(invocation, flags));
  const wrong = await differing(network, client, only);
  if (first.code === 0 && kinds.every(isCap)) problems.push(...lost(wrong));
  problems.push(...formless(network, await readRows(client, network.tables)));
  problems.push(...(await stillCertified(run, client, wrong)));
  problems.push(...(await heal(client, target, flags)));
  const left = await differing(network, client, only);
  problems.push(...left.slice(0, 3).map(({ table, key, what }) => `in the end: ${table} ${key} ${what}`));
  return {
    kinds: kinds.map(({ name }) => name),
    done: [...wire.done],
    crawl: first.code,
    harmed: wrong.length,
    problems,
  };
}

interface Flags {
  readonly from: string;
  readonly to: string;
  readonly only: readonly string[];
}

function crawl(target: CommandTarget, flags: Flags): Promise<CommandResult> {
  return runHere(target, (invocation) => backfill(invocation, { ...flags, quiet: true, deadline: LONGEST }));
}

/** Wrong rows in seconds that a dataset certifies. */
async function stillCertified(
  { network, isKnown }: WireRun,
  client: pg.Client,
  wrong: readonly Differing[],
): Promise<string[]> {
  const certified = await readCertified(client);
  const quiet = ofQuietBlocks(wrong);
  const falsely = wrong.filter((one) => {
    const table = network.tables.find(({ name }) => name === one.table);
    if (table === undefined || isKnown(one) || quiet.has(one)) return false;
    return occurrencesOfRow(table, [one.row], network.truth).some((where) => isCertified(certified, where));
  });
  return falsely.slice(0, 3).map(({ table, key, what }) => `verified: ${table} ${key} ${what}`);
}

/** What a user does about it once the source is well: quarantine first, then a deep repair, then a second reading. */
async function heal(client: pg.Client, target: CommandTarget, flags: Flags): Promise<string[]> {
  if ((await countQuarantined(client)) > 0)
    await runHere(target, (invocation) => quarantineRetry(invocation, [], { again: true }));
  const repair = await runHere(target, (invocation) =>
    verify(invocation, { ...flags, deep: '100%', repair: true }),
  );
  const proved = () => runHere(target, (invocation) => verify(invocation, flags));
  let end = await proved();
  // A pool that only the repair has named is read for the first time here, so its second reading is the next
  // one.
  for (let reading = 0; end.code !== 0 && reading < 2; reading += 1) {
    await readAgain(target, flags.only);
    end = await proved();
  }
  const quarantined = await countQuarantined(client);
  return [
    ...(repair.code === undefined ? [`repair fails: ${last(repair)}`] : []),
    ...(end.code === 0 ? [] : [`in the end verify says ${String(end.code)}: ${last(end)}`]),
    ...(quarantined === 0 ? [] : [`in the end ${quarantined} records are in quarantine`]),
  ];
}

async function differing({ tables, truth }: ProvedNetwork, client: pg.Client, only: readonly string[]) {
  const asked = tables.filter(({ datasets }) => datasets.some((name) => only.includes(name)));
  const inside = ({ second }: Differing) => second >= RANGE.from && second < RANGE.to;
  return compareRows(asked, truth, await readRows(client, asked)).filter(inside);
}

/** Pages that are all cut at one length are noticed while they are read: nothing is missing from what is complete. */
function isCap({ way }: Kind): boolean {
  return 'listing' in way && way.listing.always === true;
}

function lost(wrong: readonly Differing[]): string[] {
  return wrong
    .slice(0, 3)
    .map(({ table, key, what }) => `the crawl reports success: ${table} ${key} ${what}`);
}

/** Hashes and addresses, as the servers print them. */
const SHAPES = [
  /^[A-Za-z0-9+/]{42}[AEIMQUYcgkosw048]=$/,
  /^(-?\d{1,10}:[0-9A-F]{64}|ext\$\d+:[0-9A-Fa-f]*|var\$-?\d+:\d+:[0-9A-Fa-f]*|addr_none|)$/,
];

/** Stored values that are no hash, or no address, in a column of nothing else. */
function formless({ tables, truth }: ProvedNetwork, stored: Rows): string[] {
  const found = tables.flatMap(({ name, columns }) =>
    columns.flatMap((column) => {
      const valuesOf = (rows: Rows) => (rows.get(name) ?? []).flatMap((row) => row[column.name] ?? []);
      const known = valuesOf(truth);
      const shape = SHAPES.find((one) => known.length > 0 && known.every((value) => one.test(value)));
      const malformed = valuesOf(stored).find((value) => shape?.test(value) === false);
      return malformed === undefined
        ? []
        : [`stored without its form: ${name}.${column.name} ${malformed.slice(0, 80)}`];
    }),
  );
  return found.slice(0, 3);
}

async function countQuarantined(client: pg.Client): Promise<number> {
  const { rows } = await client.query<{ records: number }>(
    'select count(*)::int as records from etl.quarantine',
  );
  return rows[0]?.records ?? 0;
}

function last({ lines }: CommandResult): string {
  const words = lines.filter((line) => /^(error|not |[a-z-]+ +\w+: \d|missing|refused)/.test(line));
  return (words.length === 0 ? lines : words).slice(0, 3).join('; ').slice(0, 400);
}
