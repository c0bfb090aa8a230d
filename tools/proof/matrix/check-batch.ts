import type pg from 'pg';
import { verify } from '../../../src/commands/verify-command.ts';
import { without } from '../../../src/range.ts';
import { runHere, type CommandTarget } from '../run-here.ts';
import { apply, secondsOf, type Alteration } from './alteration.ts';
import { RANGE, readAgain } from './network.ts';
import { occurrencesOf, type Occurrence } from './occurrences.ts';
import { withClient, type ProvedNetwork } from './proved-network.ts';
import { compareRows, keyOf, readRows, type Differing } from './rows.ts';
import { isKnownStream, isRefused, isCertified, readCertified, type Certified } from './certified-seconds.ts';

/** What sees an alteration, and what heals it. */
export interface Verdict {
  readonly cell: string;
  /** The command that saw it first; undefined if it was not run. */
  readonly seen: { readonly verify: boolean; readonly again?: boolean; readonly deep: boolean };
  readonly healed: { readonly repair?: boolean; readonly again?: boolean; readonly deepRepair: boolean };
  /** Violations of the promise, in sentences. */
  readonly problems: readonly string[];
}

export interface Depth {
  /**
   * If false, the slow parts that are not in the promise are left out: a plain repair, a second reading, and
   * whether plain `verify` sees the alteration alone.
   */
  readonly whole: boolean;
}

/** Alters a copy of the network in several places at once, and runs each command on it. */
export async function checkBatch(
  network: ProvedNetwork,
  alterations: readonly Alteration[],
  { whole }: Depth,
): Promise<Verdict[]> {
  const deep = await onClone(network, alterations, (run) => askDeep(run));
  const seen = deep.map((answer) => answer.verify);
  const holed: string[][] = alterations.map(() => []);
  for (const hole of HOLES) {
    const problems = await onClone(network, alterations, (run) => askBesideHole(run, hole, seen));
    for (const [at, own] of problems.entries()) holed[at]!.push(...own);
  }
  const repair = whole ? await onClone(network, alterations, (run) => askRepair(run)) : undefined;
  const again = whole ? await onClone(network, alterations, (run) => askAgain(run)) : undefined;
  return alterations.map((alteration, at) => {
    const { verify: plainly, deep: deeply, healed, problems } = deep[at]!;
    return {
      cell: alteration.cell.id,
      seen: {
        verify: plainly,
        ...(again && { again: again[at]!.seen }),
        deep: deeply,
      },
      healed: {
        ...(repair && { repair: repair[at]!.healed }),
        ...(again && { again: again[at]!.healed }),
        deepRepair: healed,
      },
      problems: [
        ...problems,
        ...holed[at]!,
        ...(repair?.[at]?.problems ?? []),
        ...(again?.[at]?.problems ?? []),
      ],
    };
  });
}

/** The position of the broken link in the chain of blocks, as a share of the range. */
const HOLES = [0.1, 0.5, 0.9];

/**
 * If `verify` sees an alteration alone, it must not certify it if links of blocks are missing above, among or
 * below it. The checks that would see it then may not have run.
 */
async function askBesideHole(run: Run, at: number, seen: readonly boolean[]): Promise<string[][]> {
  const second = Math.round(RANGE.from + at * (RANGE.to - RANGE.from));
  await run.client.query(`set session_replication_role = replica`);
  await run.client.query(
    `delete from ton.block_parents where (utime, workchain, shard, seqno) in (
      select utime, workchain, shard, seqno from ton.block_parents
      where utime >= to_timestamp($1) and workchain = 0 order by utime, shard limit 1)`,
    [second],
  );
  await run.client.query(`set session_replication_role = origin`);
  const { certified } = await runVerify(run, {});
  return run.alterations.map((alteration, index) =>
    occurrencesOf(alteration, run.network.truth)
      .filter((occurrence) => seen[index] === true && isCertified(certified, occurrence))
      .map(({ dataset }) => `verify, with blocks missing at ${at} of the range: ${dataset} certifies it`),
  );
}

/** Whether `verify` sees each alteration, if these are all that is wrong. */
export async function seenByVerify(
  network: ProvedNetwork,
  alterations: readonly Alteration[],
): Promise<boolean[]> {
  return onClone(network, alterations, async (run) => {
    const answers = await seenPlainly(run, await runVerify(run, {}));
    return answers.map(({ seen }) => seen);
  });
}

interface Run {
  readonly network: ProvedNetwork;
  readonly alterations: readonly Alteration[];
  readonly client: pg.Client;
  readonly where: CommandTarget;
  /** Datasets that are verified: the others, which depend on none of them, would only take time. */
  readonly only: readonly string[];
}

async function onClone<T>(
  network: ProvedNetwork,
  alterations: readonly Alteration[],
  work: (run: Run) => Promise<T>,
): Promise<T> {
  const copy = await network.clone();
  const { url } = copy;
  try {
    return await withClient(url, async (client) => {
      for (const alteration of alterations) await apply(client, alteration);
      const where = { url, source: network.simulator.url };
      return work({ network, alterations, client, where, only: datasetsOf(alterations) });
    });
  } finally {
    await copy.drop();
  }
}

const GROUND = ['blocks', 'transactions', 'traces'];

function datasetsOf(alterations: readonly Alteration[]): string[] {
  return [...new Set([...GROUND, ...alterations.flatMap(({ cell }) => cell.table.datasets)])];
}

/** The state of the alterations after a command. */
interface Left {
  readonly code: number | undefined;
  readonly complaint: string;
  readonly certified: Certified;
}

async function runVerify(run: Run, flags: { deep?: string; repair?: boolean }): Promise<Left> {
  const began = performance.now();
  const common = { from: String(RANGE.from), to: String(RANGE.to), only: run.only };
  const { code, lines } = await runHere(run.where, (invocation) =>
    verify(invocation, { ...common, ...flags }),
  );
  if (process.env['PROOF_TIMES'] !== undefined)
    console.log(JSON.stringify(flags), code, Math.round(performance.now() - began), 'ms');
  const complaints =
    code === undefined ? lines : lines.filter((line) => /^(error|not|[a-z-]+ +\w+: \d)/.test(line));
  return { code, complaint: complaints.join('; ').slice(0, 300), certified: await readCertified(run.client) };
}

function isDoubted({ network }: Run, { certified }: Left, alteration: Alteration): boolean {
  return occurrencesOf(alteration, network.truth).every((occurrence) => !isCertified(certified, occurrence));
}

interface Asked {
  verify: boolean;
  deep: boolean;
  healed: boolean;
  problems: string[];
}

/** `verify`, `verify --deep 100%`, `verify` again, and `verify --deep 100% --repair`. */
async function askDeep(run: Run): Promise<Asked[]> {
  const plain = await runVerify(run, {});
  const plainly = await seenPlainly(run, plain);
  const deeper = await runVerify(run, { deep: '100%' });
  const deeply = await seenBy(run, deeper, 'verify --deep 100%');
  const later = await runVerify(run, {});
  const last = await runVerify(run, { deep: '100%', repair: true });
  const blamed = blame(run, await compareToTruth(run));
  const { code, complaint, certified } = last.code === 0 ? last : await askLater(run);
  const open = unverified(certified, run.only);
  return run.alterations.map((alteration, at) => {
    const problems = [...plainly[at]!.problems, ...deeply[at]!.problems, ...(blamed.get(alteration) ?? [])];
    if (!deeply[at]!.seen && !plainly[at]!.seen) problems.push('nothing sees it');
    const healed = !blamed.has(alteration);
    if (
      !healed &&
      occurrencesOf(alteration, run.network.truth).some((occurrence) =>
        isCertified(last.certified, occurrence),
      )
    )
      problems.push('verified though it is not healed');
    if (deeply[at]!.seen && !isDoubted(run, later, alteration))
      problems.push('verify forgets what --deep 100% has seen');
    const isOpen = open.filter(
      ({ stream, second }) =>
        alteration.cell.table.datasets.includes(stream.split('/')[0] ?? '') &&
        secondsOf(alteration).includes(second),
    );
    if (isOpen.length > 0)
      problems.push(`not verified in the end: ${isOpen.map(({ stream }) => stream).join()}`);
    if (run.alterations.length === 1) problems.push(...endOf({ code, complaint }, open.length));
    return { verify: plainly[at]!.seen, deep: deeply[at]!.seen, healed, problems };
  });
}

/** Rows of datasets without a checksum are cross-checked when they have been read a second time, an hour later. */
async function askLater(run: Run): Promise<Left> {
  await readAgain(run.where, run.only);
  return runVerify(run, {});
}

function endOf({ code, complaint }: Pick<Left, 'code' | 'complaint'>, open: number): string[] {
  return [
    ...(code === 0
      ? []
      : [`--deep 100% --repair, and verify after a second reading, end with ${String(code)}: ${complaint}`]),
    ...(open === 0 ? [] : [`${open} seconds are not verified in the end`]),
  ];
}

/** A problem that a neighbor's finding alone causes if plain `verify` does not see the alteration. */
export const FORGOTTEN = 'refused by verify, and verified after --repair though it is not healed';

/** `verify --repair`: it heals what it sees, or does not certify it. */
async function askRepair(run: Run): Promise<{ healed: boolean; problems: string[] }[]> {
  const plain = await runVerify(run, {});
  const { certified } = await runVerify(run, { repair: true });
  const blamed = blame(run, await compareToTruth(run));
  return run.alterations.map((alteration) => {
    const forgotten =
      blamed.has(alteration) &&
      occurrencesOf(alteration, run.network.truth).some(
        (occurrence) => !isCertified(plain.certified, occurrence) && isCertified(certified, occurrence),
      );
    return {
      healed: !blamed.has(alteration),
      problems: forgotten ? [FORGOTTEN] : [],
    };
  });
}

/** A second reading, as if days had passed, and `verify`: it must not confirm a row that it did not bring. */
async function askAgain(run: Run): Promise<{ seen: boolean; healed: boolean; problems: string[] }[]> {
  await run.client.query(`update etl.coverage set covered = '{}' where pass = 1`);
  await readAgain(run.where, run.only);
  const { certified } = await runVerify(run, {});
  const blamed = blame(run, await compareToTruth(run));
  return run.alterations.map((alteration) => {
    const healed = !blamed.has(alteration);
    const occurrences = occurrencesOf(alteration, run.network.truth);
    const seen = healed || occurrences.some((occurrence) => !isCertified(certified, occurrence));
    const isReadTwice = alteration.cell.table.datasets.every((name) => run.network.readTwice.has(name));
    const problems =
      isReadTwice && !seen ? ['a second reading confirms it although it brought another row'] : [];
    return { healed, seen, problems };
  });
}

interface Answer {
  readonly seen: boolean;
  readonly problems: readonly string[];
}

/** Plain verification has seen an alteration only if every dataset that certifies the row has seen it. */
async function seenPlainly(run: Run, left: Left): Promise<Answer[]> {
  const answers = await seenBy(run, left, 'verify');
  return answers.map((answer) =>
    answer.certifying.length === 0 ? answer : { seen: false, problems: failureOf(left, 'verify') },
  );
}

/** Members that older servers omit: a row without one is unproved, and not known to be wrong. */
const OMITTED_BY_OLDER: ReadonlySet<string> = new Set(['transactions.block_shard null']);

/** Whether each alteration was noticed by every dataset that certifies the row. */
async function seenBy(
  { client, alterations, network }: Run,
  left: Left,
  command: string,
): Promise<(Answer & { readonly certifying: readonly Occurrence[] })[]> {
  const answers = [];
  for (const alteration of alterations) {
    const occurrences = occurrencesOf(alteration, network.truth).filter((occurrence) =>
      isKnownStream(left.certified, occurrence),
    );
    const certifying = occurrences.filter((occurrence) => isCertified(left.certified, occurrence));
    const seen = certifying.length < occurrences.length;
    const problems = failureOf(left, command);
    if (seen && certifying.length > 0)
      problems.push(`${command}: ${certifying.map(({ dataset }) => dataset).join()} still certifies it`);
    const grade = OMITTED_BY_OLDER.has(alteration.cell.id) ? 'highest' : 'covered';
    for (const occurrence of seen ? occurrences : [])
      if (!certifying.includes(occurrence) && !(await isRefused(client, occurrence, grade)))
        problems.push(`${command}: assert_complete('${occurrence.dataset}') does not refuse it`);
    answers.push({ seen, problems, certifying });
  }
  return answers;
}

function failureOf({ code, complaint }: Left, command: string): string[] {
  return code === undefined ? [`${command}: fails: ${complaint}`] : [];
}

async function compareToTruth({ client, network: { tables, truth } }: Run): Promise<Differing[]> {
  return compareRows(tables, truth, await readRows(client, tables));
}

/** The alteration that caused each difference: by its row, or else by its second. */
function blame({ alterations }: Run, left: readonly Differing[]): Map<Alteration, string[]> {
  const blamed = new Map<Alteration, string[]>();
  for (const one of left) {
    const guilty =
      alterations.find((alteration) => isRowOf(alteration, one)) ??
      alterations.find((alteration) => secondsOf(alteration).includes(one.second)) ??
      (alterations.length === 1 ? alterations[0] : undefined);
    if (guilty === undefined) continue;
    blamed.set(guilty, [...(blamed.get(guilty) ?? []), `${one.table} ${one.key} ${one.what}`].slice(0, 3));
  }
  return blamed;
}

function isRowOf({ cell: { table }, before, after }: Alteration, one: Differing): boolean {
  return (
    one.table === table.name &&
    [before, after].some((row) => row !== undefined && keyOf(table, row) === one.key)
  );
}

/** Seconds of the range that a dataset does not certify. */
function unverified(certified: Certified, only: readonly string[]): { stream: string; second: number }[] {
  const asked = [...certified].filter(([stream]) => only.includes(stream.split('/')[0] ?? ''));
  return asked.flatMap(([stream, ranges]) =>
    without([RANGE], ranges).flatMap(({ from, to }) =>
      Array.from({ length: to - from }, (_, at) => ({ stream, second: from + at })),
    ),
  );
}
