import type { Command } from 'commander';
import * as z from 'zod';
import { openApi } from '../app/open-crawl.ts';
import { loadJobs } from '../dataset/load-jobs.ts';
import { type OpenFinding, findingsOfHash } from '../ledger/stored-findings.ts';
import {
  findHashColumns,
  type FoundRow,
  type LoggedPage,
  type SecondCoverage,
  findPages,
  findQuarantined,
  findRows,
  readSecond,
  type HashColumn,
} from '../read/find-hash.ts';
import type { Quarantined } from '../read/quarantined.ts';
import { EXIT, type ExitCode, UsageError, EtlError } from '../errors.ts';
import { DAY, formatTime, parseTime, type Range, spanOfSecond } from '../range.ts';
import { commandLine } from '../terminal/program-name.ts';
import { parseHash } from '../ton/address.ts';
import { examples } from './option-words.ts';
import { closeAfter, type Invocation, runCommand, withHost, withStore } from './run-command.ts';
import type { Dataset } from '../dataset/dataset.ts';
import { ownTablesOf } from '../tables/describe.ts';
import type { Database } from '../postgres/database.ts';
import { parseCanonical } from '../dataset/declaration/record.ts';
import { hash, optionalHash, requiredCount } from '../records/members.ts';
import type { ApiClient } from '../api/client.ts';

export function defineWhy(command: Command): void {
  command
    .argument('<hash>', 'in hex, base64 or base64url')
    .option('--at <time>', 'when it happened; else the API is asked, with one or two requests')
    // A hash in base64url may begin with a dash, like an option.
    .allowUnknownOption()
    .addHelpText(
      'after',
      examples('toncenter-etl why 0x5f3c…e1', 'toncenter-etl why XzwSb…4Q= --at 2026-11-01T10:00Z'),
    )
    .action((hash: string, flags: { at?: string }) =>
      runCommand((invocation) => why(invocation, hash, flags)),
    );
}

/**
 * `why HASH [--at TIME]`: what the database knows of a transaction, message or anything else with this hash, and if
 * it has no row, why. Exits with 0 if it is stored and nothing is known to be wrong, otherwise with 3.
 */
async function why(invocation: Invocation, given: string, flags: { at?: string }): Promise<ExitCode> {
  const hash = parseHash(given);
  const at = flags.at === undefined ? undefined : parseTime(flags.at, invocation.now);
  if (at !== undefined && at > invocation.now + DAY)
    throw new UsageError(`--at ${formatTime(at)} is in the future: it cannot be read`);
  return withStore(invocation, 'toncenter-etl why', async (store) => {
    const ask = (asked: string) =>
      withHost(invocation, store, (opened) =>
        closeAfter(openApi({ ...invocation, ...opened }), (api) =>
          askByHash(api, asked, opened.stop.finishing),
        ),
      );
    const { database } = store;
    const known = { datasets: await loadJobs(), hashColumns: await findHashColumns() };
    console.log(clueLine('hash', hash));
    const found = new Set<Clue['kind']>();
    for await (const { kind, lines } of findClues({ database, ...known, hash, at, ask })) {
      found.add(kind);
      for (const line of lines) console.log(line);
    }
    return found.has('stored') && !found.has('wrong') ? EXIT.done : EXIT.incomplete;
  });
}

/** Members of a row that are shown. The printed `select` shows all. */
const SHOWN = 6;
const LONGEST = 80;

function clueLine(title: string, text: string): string {
  return `${title.padEnd(12)}${text}`;
}

function findingLines({ dataset, table, key, differs, check, span, found_at }: OpenFinding): string[] {
  return [
    clueLine('wrong', `${table} ${key}: ${differs} (${check} of ${dataset}, found ${found_at})`),
    repairLine(dataset, span),
  ];
}

/** The command that reads a range again, compares it with what is stored, and repairs the differences. */
function repairLine(dataset: string, { from, to }: Range): string {
  return clueLine(
    'repair',
    commandLine(
      `verify --from ${formatTime(from)} --to ${formatTime(to)} --only ${dataset} --deep 100% --repair`,
    ),
  );
}

function storedLine({ table, column, utime, values }: FoundRow): string {
  const members = Object.entries(values)
    .filter(([name, value]) => !['utime', 'loaded_at', column].includes(name) && isShort(value))
    .slice(0, SHOWN)
    .map(([name, value]) => `${name} ${String(value)}`);
  return clueLine('stored', `${table}.${column} at ${formatTime(utime)}: ${members.join(', ')}`);
}

function isShort(value: unknown): boolean {
  return typeof value === 'number' || (typeof value === 'string' && value !== '' && value.length <= LONGEST);
}

function pageLine({ id, dataset, request, worker, committedAt, wrote }: LoggedPage): string {
  const what = `page ${id} of ${dataset}, committed ${formatTime(committedAt)} by ${worker}: GET ${request}`;
  return clueLine(wrote ? 'written by' : 'also read', what);
}

function selectLine({ table, column }: FoundRow, hash: string): string {
  return clueLine(
    'whole row',
    commandLine(`sql "select * from ${table} where ${column} = '${hash}'" --json`),
  );
}

function quarantineLines(record: Quarantined): string[] {
  const { id, dataset, utime, path, reason, attempts, firstAt } = record;
  const where = path === '' ? 'the record as a whole' : path;
  return [
    clueLine('quarantine', `record ${id} of ${dataset} at ${formatTime(utime)}: ${where}: ${reason}`),
    clueLine('since', `${formatTime(firstAt)}, received ${attempts} ${attempts === 1 ? 'time' : 'times'}`),
    clueLine('see it', commandLine(`quarantine show ${id}`)),
  ];
}

function askedLine(hash: string): string {
  const questions = questionsOn(hash).map(
    ({ path, params }) => `GET ${path}?${new URLSearchParams(params).toString()}`,
  );
  return clueLine('asked', questions.join(', then '));
}

function knownLines({ kind, utime, hash }: KnownThing, asked: string): string[] {
  const known = clueLine('the API', `knows it as a ${kind} of ${formatTime(utime)}`);
  return hash === asked ? [known] : [known, clueLine('', `it is the normalized hash of the message ${hash}`)];
}

function coverageLines({ dataset, covered, refused }: SecondCoverage, time: number): string[] {
  if (!covered) {
    const reason = refused === null ? '' : ` (${refused})`;
    return [
      clueLine('not read', `${dataset} has never covered ${formatTime(time)}${reason}`),
      clueLine(
        'read it',
        commandLine(`backfill --from ${formatTime(time)} --to ${formatTime(time + 1)} --only ${dataset}`),
      ),
    ];
  }
  return [
    clueLine(
      'a hole',
      `${dataset} covers ${formatTime(time)}: if it is of that second, its row should be there`,
    ),
    repairLine(dataset, spanOfSecond(time)),
  ];
}

/** A fact about a hash, for people. */
interface Clue {
  readonly kind: 'wrong' | 'stored' | 'other';
  readonly lines: readonly string[];
}

function other(...lines: readonly string[]): Clue {
  return { kind: 'other', lines };
}

interface Search {
  readonly database: Database;
  readonly datasets: readonly Dataset[];
  readonly hashColumns: readonly HashColumn[];
  readonly hash: string;
  /** Unix seconds when it happened; undefined if the API must be asked. */
  readonly at: number | undefined;
  /** What the API knows about the hash; undefined if it knows nothing. */
  readonly ask: (hash: string) => Promise<KnownThing | undefined>;
}

/** Yields findings about a hash and its rows, otherwise quarantined records, otherwise whether its second was read. */
async function* findClues(search: Search): AsyncGenerator<Clue> {
  const { database, hashColumns, hash, at } = search;
  for (const finding of await findingsOfHash(database, hash))
    yield { kind: 'wrong', lines: findingLines(finding) };
  const stored = await findStored(search, hash);
  yield* stored;
  if (stored.length > 0) return;
  const quarantined = await findQuarantined(database, hash);
  for (const record of quarantined) yield other(...quarantineLines(record));
  if (quarantined.length > 0) return;
  const columns = hashColumns.map(({ table, column }) => `${table}.${column}`);
  yield other(clueLine('absent', `no row has it in ${columns.join(', ')}`));
  if (at === undefined) yield* askApi(search);
  else yield* findCoverage(search, at, (table) => hashColumns.some((column) => column.table === table));
}

async function findStored({ database, datasets, hashColumns }: Search, hash: string): Promise<Clue[]> {
  const clues: Clue[] = [];
  for (const row of await findRows(database, hashColumns, hash)) {
    const writers = datasets
      .filter(({ job }) => Object.hasOwn(job.tables, row.table))
      .map(({ name }) => name);
    const pages = (await findPages(database, writers, row)).map(pageLine);
    clues.push({ kind: 'stored', lines: [storedLine(row), ...pages, selectLine(row, hash)] });
  }
  return clues;
}

/** Without a time it is unknown whether its range was read, so the API is asked for the time. */
async function* askApi(search: Search): AsyncGenerator<Clue> {
  const { hash, ask } = search;
  yield other(askedLine(hash));
  let thing: KnownThing | undefined;
  try {
    thing = await ask(hash);
  } catch (error) {
    if (!(error instanceof EtlError)) throw error;
    yield other(
      clueLine('unknown', `the API could not answer: ${error.message}`),
      clueLine('', 'give --at TIME if you know when it happened, to see whether that second was read'),
    );
    return;
  }
  if (thing === undefined) {
    yield other(
      clueLine('unknown', 'the API does not know it either: another network, or a hash of something else'),
    );
    return;
  }
  yield other(...knownLines(thing, hash));
  const stored = thing.hash === hash ? [] : await findStored(search, thing.hash);
  yield* stored;
  if (stored.length === 0) yield* findCoverage(search, thing.utime, (table) => table === 'transactions');
}

/** If a dataset covers a second, every row of its own table in that second should be stored. */
async function* findCoverage(
  { database, datasets }: Search,
  time: number,
  isOwn: (table: string) => boolean,
): AsyncGenerator<Clue> {
  const owners = datasets.filter((dataset) => ownTablesOf(dataset, datasets).some(([table]) => isOwn(table)));
  const names = owners.map(({ name }) => name);
  for (const coverage of await readSecond(database, names, time))
    yield other(...coverageLines(coverage, time));
}

interface KnownThing {
  readonly kind: 'transaction' | 'message';
  /** Its own hash, if the requested one is a message's normalized hash. */
  readonly hash: string;
  /** Unix seconds of the transaction, of a message's sender, or (external-in) of its receiver. */
  readonly utime: number;
}

const Message = z.object({ hash, hash_norm: optionalHash });
const Transactions = z.object({
  transactions: z.array(
    z.object({
      hash,
      now: requiredCount,
      in_msg: Message.nullish(),
      out_msgs: z.array(Message).nullish(),
    }),
  ),
});

type TransactionLink = z.infer<typeof Transactions>['transactions'][number];

interface HashRequest {
  readonly path: string;
  readonly params: Readonly<Record<string, string>>;
  readonly kind: KnownThing['kind'];
}

/** The requests that find a thing by its hash alone, in this order. */
function questionsOn(hash: string): HashRequest[] {
  return [
    { path: '/api/v3/transactions', params: { hash }, kind: 'transaction' },
    { path: '/api/v3/transactionsByMessage', params: { msg_hash: hash }, kind: 'message' },
  ];
}

/** Sends requests until a response knows the hash; undefined if none does. Throws what the client throws. */
async function askByHash(api: ApiClient, hash: string, signal: AbortSignal): Promise<KnownThing | undefined> {
  for (const { path, params, kind } of questionsOn(hash)) {
    const { value } = await api.get({
      path,
      params: { ...params, limit: 10, x_no_address_book: true, x_no_metadata: true },
      priority: 'tail',
      signal,
      parse: (body) => parseCanonical(Transactions, body).transactions,
    });
    const [first] = value.toSorted((a, b) => a.now - b.now);
    if (first !== undefined)
      return { kind, utime: first.now, hash: kind === 'transaction' ? first.hash : ownHash(first, hash) };
  }
  return undefined;
}

function ownHash({ in_msg, out_msgs }: TransactionLink, hash: string): string {
  const messages = [in_msg, ...(out_msgs ?? [])].filter(
    (message) => message !== null && message !== undefined,
  );
  return messages.find((message) => message.hash === hash || message.hash_norm === hash)?.hash ?? hash;
}
