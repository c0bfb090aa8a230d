import { openApi, type Store } from '../app.ts';
import { askByHash, questionsOn, type KnownThing } from '../crawl/ask-by-hash.ts';
import { loadJobs } from '../dataset/load-jobs.ts';
import { stopOnSignals } from '../stop.ts';
import type { Dataset } from '../dataset/dataset.ts';
import { findingsOfHash } from '../db/coverage/findings.ts';
import type { Database } from '../db/connection/database.ts';
import {
  findHashColumns,
  findPages,
  findQuarantined,
  findRows,
  readSecond,
  type FoundRow,
  type HashColumn,
  type LoggedPage,
  type QuarantinedRecord,
  type SecondCoverage,
} from '../db/read/find-hash.ts';
import { uncoverStatements } from '../db/read/uncover-statements.ts';
import { EtlError, EXIT, type ExitCode } from '../errors.ts';
import { parseHash } from '../ton/hash.ts';
import { formatTime, parseTime } from '../range.ts';
import { openSource } from '../source.ts';
import type { Invocation } from './command.ts';
import { withStore } from './with-store.ts';

/** Members of a row that are shown; the rest is a `select` away. */
const SHOWN = 6;
const LONGEST = 80;

interface Search {
  readonly invocation: Invocation;
  readonly store: Store;
  readonly datasets: readonly Dataset[];
  readonly places: readonly HashColumn[];
  readonly hash: string;
}

/**
 * `why HASH [--at TIME]`: what the database knows of a transaction, message or whatever else has this hash, and why it
 * has no row of it where it has none. Exit 0 where it is stored and nothing is known to be
 * wrong with it, 3 otherwise.
 */
export async function why(invocation: Invocation, given: string, flags: { at?: string }): Promise<ExitCode> {
  const hash = parseHash(given);
  const at = flags.at === undefined ? undefined : parseTime(flags.at, invocation.now);
  return withStore(invocation, 'toncenter-etl why', async (store) => {
    const places = await findHashColumns();
    const search = { invocation, store, datasets: await loadJobs(), places, hash };
    console.log(line('hash', hash));
    const isWrong = await tellFindings(store.database, hash);
    if (await tellStored(search, hash)) return isWrong ? EXIT.incomplete : EXIT.done;
    if (await tellQuarantined(store.database, hash)) return EXIT.incomplete;
    console.log(
      line(
        'absent',
        `no row has it in ${places.map(({ table, column }) => `${table}.${column}`).join(', ')}`,
      ),
    );
    if (at !== undefined) {
      await tellCoverage(search, at, (table) => places.some((place) => place.table === table));
      return EXIT.incomplete;
    }
    return await tellFromApi(search);
  });
}

function line(title: string, text: string): string {
  return `${title.padEnd(12)}${text}`;
}

/** What checks know to be wrong with the row: it is not to be trusted, stored or not. */
async function tellFindings(database: Database, hash: string): Promise<boolean> {
  const findings = await findingsOfHash(database, hash);
  for (const { dataset, table, key, differs, check, span, found_at } of findings) {
    console.log(line('wrong', `${table} ${key}: ${differs} (${check} of ${dataset}, found ${found_at})`));
    const { from, to } = span;
    console.log(
      line('repair', `toncenter-etl verify --from ${from} --to ${to} --only ${dataset} --deep 100% --repair`),
    );
  }
  return findings.length > 0;
}

async function tellStored({ store, datasets, places }: Search, hash: string): Promise<boolean> {
  const rows = await findRows(store.database, places, hash);
  for (const row of rows) {
    const writers = datasets
      .filter(({ job }) => Object.hasOwn(job.tables, row.table))
      .map(({ name }) => name);
    const pages = await findPages(store.database, writers, row);
    for (const text of [storedLine(row), ...pages.map(pageLine), selectLine(row, hash)]) console.log(text);
  }
  return rows.length > 0;
}

function storedLine({ table, column, utime, values }: FoundRow): string {
  const members = Object.entries(values)
    .filter(([name, value]) => !['utime', 'loaded_at', column].includes(name) && isShort(value))
    .slice(0, SHOWN)
    .map(([name, value]) => `${name} ${String(value)}`);
  return line('stored', `${table}.${column} at ${formatTime(utime)}: ${members.join(', ')}`);
}

function isShort(value: unknown): boolean {
  return typeof value === 'number' || (typeof value === 'string' && value !== '' && value.length <= LONGEST);
}

function pageLine({ id, dataset, request, worker, committedAt, wrote }: LoggedPage): string {
  const what = `page ${id} of ${dataset}, committed ${formatTime(committedAt)} by ${worker}: GET ${request}`;
  return line(wrote ? 'written by' : 'also read', what);
}

function selectLine({ table, column }: FoundRow, hash: string): string {
  return line('whole row', `toncenter-etl sql "select * from ${table} where ${column} = '${hash}'" --json`);
}

async function tellQuarantined(database: Database, hash: string): Promise<boolean> {
  const records = await findQuarantined(database, hash);
  for (const record of records) for (const text of quarantineLines(record)) console.log(text);
  return records.length > 0;
}

function quarantineLines(record: QuarantinedRecord): string[] {
  const { id, dataset, utime, path, reason, attempts, firstAt } = record;
  const where = path === '' ? 'the record as a whole' : path;
  return [
    line('quarantine', `record ${id} of ${dataset} at ${formatTime(utime)}: ${where}: ${reason}`),
    line('since', `${formatTime(firstAt)}, received ${attempts} ${attempts === 1 ? 'time' : 'times'}`),
    line('see it', `toncenter-etl quarantine show ${id}`),
  ];
}

/** Without a time nobody knows whether its range was read: the API is asked for it. */
async function tellFromApi(search: Search): Promise<ExitCode> {
  const { hash } = search;
  const asked = questionsOn(hash).map(
    ({ path, params }) => `GET ${path}?${new URLSearchParams(params).toString()}`,
  );
  console.log(line('asked', asked.join(', then ')));
  const known = await ask(search);
  if (known instanceof EtlError) {
    console.log(line('unknown', `the API could not answer: ${known.message}`));
    console.log(line('', 'say when it happened (--at TIME) to learn whether that second was read'));
    return EXIT.incomplete;
  }
  if (known === undefined) {
    console.log(
      line('unknown', 'the API does not know it either: another network, or a hash of something else'),
    );
    return EXIT.incomplete;
  }
  console.log(line('the API', `knows it as a ${known.kind} of ${formatTime(known.utime)}`));
  if (known.hash !== hash) {
    console.log(line('', `it is the normalized hash of the message ${known.hash}`));
    if (await tellStored(search, known.hash)) return EXIT.done;
  }
  await tellCoverage(search, known.utime, (table) => table === 'transactions');
  return EXIT.incomplete;
}

async function ask({ invocation, store, hash }: Search): Promise<KnownThing | undefined | EtlError> {
  const { config, logger } = invocation;
  const stop = stopOnSignals(logger);
  try {
    const source = await openSource(config, store, 'still');
    const api = openApi({ config, store, logger, stop, baseUrl: source.baseUrl });
    try {
      return await askByHash(api, hash, stop.finishing);
    } finally {
      await api.close();
      await source.close();
    }
  } catch (error) {
    if (error instanceof EtlError) return error;
    throw error;
  } finally {
    stop.dispose();
  }
}

/** Of a dataset that covers a second, every row of its own table of that second should be there. */
async function tellCoverage(
  { store, datasets }: Search,
  time: number,
  isOwn: (table: string) => boolean,
): Promise<void> {
  const owners = datasets.filter(({ job }) => isOwn(Object.keys(job.tables)[0] ?? ''));
  const seconds = await readSecond(
    store.database,
    owners.map(({ name }) => name),
    time,
  );
  for (const second of seconds) for (const text of coverageLines(second, time)) console.log(text);
}

function coverageLines({ dataset, covered, refused }: SecondCoverage, time: number): string[] {
  const backfill = `toncenter-etl backfill --from ${time} --to ${time + 1} --only ${dataset}`;
  if (!covered) {
    return [
      line(
        'not read',
        `${dataset} has never covered ${formatTime(time)}${refused === null ? '' : ` (${refused})`}`,
      ),
      line('read it', backfill),
    ];
  }
  return [
    line('a hole', `${dataset} covers ${formatTime(time)}: if it is of that second, its row should be there`),
    line('repair', `take that second out of what counts as covered, then read it again:`),
    line('', `toncenter-etl sql --write "${uncoverStatements(dataset, time)}"`),
    line('', backfill),
  ];
}
