import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import actions from '../../jobs/actions.ts';
import blocks from '../../jobs/blocks.ts';
import jettonBurns from '../../jobs/jetton_burns.ts';
import jettonTransfers from '../../jobs/jetton_transfers.ts';
import nftTransfers from '../../jobs/nft_transfers.ts';
import nominatorEvents from '../../jobs/nominator_events.ts';
import nominatorPoolEvents from '../../jobs/nominator_pool_events.ts';
import traces from '../../jobs/traces.ts';
import transactions from '../../jobs/transactions.ts';
import validatorComplaints from '../../jobs/validator_complaints.ts';
import validatorEvents from '../../jobs/validator_events.ts';
import { parseJson, echoOf, listOf } from '../../src/api/read-response.ts';
import { contentOf, inside, readBody, type Content } from '../../src/crawl/streams/page.ts';
import { readList } from '../../src/dataset/bytes/read-list.ts';
import { RecordView } from '../../src/dataset/bytes/view.ts';
import type { Job, RecordsReading } from '../../src/dataset/job.ts';
import { type Lines, linesOfRecords, linesOfRows, toJson } from '../../src/write/lines.ts';
import { sampleBlock, sampleTransaction } from '../support/samples/sample-records.ts';
import {
  sampleAction,
  sampleComplaint,
  sampleJettonBurn,
  sampleJettonTransfer,
  sampleNftTransfer,
  sampleNominatorEvent,
  samplePoolEvent,
  sampleTrace,
  sampleValidatorEvent,
} from '../support/samples/sample-streams.ts';
import { runs, some } from '../support/thorough.ts';

/*
 * A record that its schema would not change goes to Postgres as bytes, and never becomes a row object.
 * Whatever is sent, the result must equal that of the schema, row objects and text.
 */

type Json = Record<string, unknown>;

const NUMBER = '@number@';

const VALUES: readonly unknown[] = [
  null,
  true,
  false,
  0,
  -1,
  7,
  2 ** 31,
  2 ** 32,
  -0.5,
  `${NUMBER}9007199254740993`,
  `${NUMBER}1e400`,
  '',
  '0',
  '007',
  '-1',
  '1700000000',
  '4294967296',
  '9223372036854775808',
  '12 3',
  '0xA',
  '0x0000000a',
  'tab\tnewline\nreturn\rback\\slash "quote" {a,b}',
  'é 日本 😀',
  'nul \u0000, half \ud800, \udc00',
  '\\N',
  '\\.',
  'nonexist',
  'addr_none',
  {},
  [],
  { a: 'é\\', b: [null, 1.5, { c: `${NUMBER}123456789012345678901` }] },
  { 'ключ\t': '5' },
  ['é', '"', null],
  [{}],
];

interface Change {
  /** The index of the changed position; it is taken modulo the number of positions. */
  readonly index: number;
  readonly kind: 'set' | 'delete' | 'add';
  readonly value: unknown;
}

const change: fc.Arbitrary<Change> = fc.record({
  index: fc.nat(10_000),
  kind: fc.constantFrom('set' as const, 'set' as const, 'delete' as const, 'add' as const),
  value: fc.constantFrom(...VALUES),
});

/** Forms of one record that mean the same; if a member is repeated, the last one counts. */
const FORMS = {
  plain: (record: Json) => JSON.stringify(record),
  spaced: (record: Json) => JSON.stringify(record, undefined, 1),
  turned: (record: Json) => JSON.stringify(turned(record)),
  doubled: (record: Json) => JSON.stringify(record).replace(/^\{("[^"]*"):/, '{$1:[],$1:'),
} as const;

/** Records that mostly have the same key, each with changes and in its own form, and whether the server escapes. */
const page = fc.record({
  records: fc.array(
    fc.record({
      changes: fc.array(change, { maxLength: 3 }),
      form: fc.constantFrom(...(['plain', 'plain', 'plain', 'spaced', 'turned', 'doubled'] as const)),
    }),
    { minLength: 1, maxLength: 4 },
  ),
  isEscaped: fc.boolean(),
});

/** The members of all objects in reverse order. */
function turned(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(turned);
  if (typeof value !== 'object' || value === null) return value;
  const members = Object.entries(value).toReversed();
  return Object.fromEntries(members.map(([name, member]) => [name, turned(member)]));
}

/** All objects and arrays within a record, with each of their members. */
function placesOf(value: unknown): [holder: Json, name: string][] {
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([name, member]) => [[value as Json, name], ...placesOf(member)]);
}

function changed(sample: Json, changes: readonly Change[]): Json {
  const record = structuredClone(sample);
  for (const { index, kind, value } of changes) {
    const places = placesOf(record);
    const [holder, name] = places[index % Math.max(1, places.length)] ?? [record, 'now'];
    if (kind === 'delete') Reflect.deleteProperty(holder, name);
    else holder[kind === 'add' && !Array.isArray(holder) ? 'newborn' : name] = structuredClone(value);
  }
  return record;
}

/** Every change to a record that is tried alone, for one position of each kind. */
function singleChanges(sample: Json): Change[] {
  const kinds = new Set<string>();
  return placesOf(sample).flatMap(([holder, name], index) => {
    // The transactions of a trace are keyed by their hashes, and are all alike.
    const kind = `${name.length > 30 ? 'hash' : name} of ${Object.keys(holder).join().slice(0, 100)}`;
    if (kinds.has(kind)) return [];
    kinds.add(kind);
    const set = SINGLE.map((value): Change => ({ index, kind: 'set', value }));
    return [...set, { index, kind: 'delete' as const, value: null }];
  });
}

const SINGLE: readonly unknown[] = [
  ...[null, {}, [], '', 0, -1, true, '1', [{}], { a: null }],
  // Text that COPY escapes, and text that is not ASCII.
  ...['é', 'a\tb', 'a\\b', 'a\nb', '\\N'],
];

function bodyOf(list: string, records: readonly string[], isEscaped: boolean): Buffer {
  const text = `{"${list}":[${records.join(',')}]}`.replaceAll(
    new RegExp(`"${NUMBER}([^"]*)"`, 'g'),
    (_found, token: string) => token,
  );
  const escaped = text.replaceAll(
    /[^\u0000-\u007e]/g,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
  return Buffer.from(isEscaped ? escaped : text);
}

function bytesOf(lines: readonly Lines[]): [table: string, lines: string][] {
  return lines.map(({ target, pieces }) => [
    target.name,
    Buffer.concat([...pieces()].map((piece) => Buffer.from(piece))).toString('utf8'),
  ]);
}

function carefully(job: Job, body: Buffer): { reading: RecordsReading; written: ReturnType<typeof bytesOf> } {
  const reading = job.read((parseJson(body.toString()) as Record<string, unknown[]>)[job.list]!);
  const lines = Object.entries(job.tables).map(([name, table]) =>
    linesOfRows(
      table,
      reading.accepted.flatMap(({ rows }) => rows[name] ?? []),
    ),
  );
  return { reading, written: bytesOf(lines) };
}

const ALWAYS = { from: 0, to: 2 ** 41 };

/** What a page shows and has to write, from a body that is parsed as a whole. */
function parsed(job: Job, body: Buffer) {
  const json = parseJson(body.toString());
  const reading = job.read(listOf(job.list)(json));
  const content = contentOf(job.tables, inside([reading], ALWAYS), { compared: false });
  const { positions, joins } = reading;
  return { positions, joins, echo: echoOf(json), ...shown(content) };
}

/** The same, in the way that pages are read. */
async function byBytes(job: Job, body: Buffer) {
  const own = Buffer.from(body);
  const turn = () => Promise.resolve();
  const page = await readBody(job, own, turn);
  const content = contentOf(job.tables, inside([page.reading], ALWAYS));
  // Nothing that is written needs the body any more.
  own.fill('{');
  const { reading, echo } = page;
  return { positions: reading.positions, joins: reading.joins, echo, ...shown(content) };
}

async function fast(job: Job, body: Buffer): Promise<ReturnType<typeof carefully>> {
  const { reading } = await readBody(job, body, () => Promise.resolve());
  return { reading, written: bytesOf(linesOfRecords(job.tables, reading.accepted)) };
}

/** Values as they are stored: before that, a number beyond 2^53 may be a number or a bigint. */
function shown({ rows, ids, rejected, extras }: Content) {
  return { ids, unfit: toJson({ rejected, extras }), written: bytesOf(rows) };
}

/** The result of a reading, or its error. */
async function outcome<T>(read: () => T | Promise<T>): Promise<T | string> {
  try {
    return await read();
  } catch (error) {
    return String(error);
  }
}

/** Pieces of JSON, and of text that resembles it. */
const PIECES = [
  ...['"', ',', ':', '{', '}', '[', ']', '\\', ' ', '\n', '\t', '\u0001', '0', '-', '.', 'e'],
  ...[
    'null',
    'nul',
    'true',
    '-0',
    '00',
    '1e5',
    '1.0',
    '123456789012345678',
    '{}',
    '[]',
    '""',
    ',,',
    'é',
    '😀',
  ],
  ...[
    '"a":1',
    ',"hash":"x"',
    '"__proto__":{}',
    '"constructor":1',
    '\\u0000',
    '\\u00e9',
    '\\ud800',
    '\\n',
    '\\"',
  ],
];

interface Damage {
  readonly at: number;
  readonly removed: number;
  readonly piece: string | { readonly from: number; readonly length: number };
}

/** A position in a text, and what replaces so many characters there: a piece, or text from another position. */
const damage: fc.Arbitrary<Damage> = fc.record({
  at: fc.nat(1_000_000),
  removed: fc.nat(3),
  piece: fc.oneof(fc.constantFrom(...PIECES), fc.record({ from: fc.nat(1_000_000), length: fc.nat(200) })),
});

function damaged(text: string, damages: readonly Damage[]): string {
  let whole = text;
  for (const { at, removed, piece } of damages) {
    const index = at % whole.length;
    const from = typeof piece === 'string' ? 0 : piece.from % whole.length;
    const put = typeof piece === 'string' ? piece : whole.slice(from, from + piece.length);
    whole = whole.slice(0, index) + put + whole.slice(index + removed);
  }
  return whole;
}

/** How many of its records are read without becoming objects. */
async function views({ list, record }: Job, body: Buffer): Promise<number> {
  const turn = () => Promise.resolve();
  const read = await readList({ bytes: body, list, record, parse: parseJson, turn });
  return (read?.records ?? []).filter((one) => one instanceof RecordView).length;
}

const datasets: [name: string, job: Job, sample: () => Json][] = [
  ['transactions', transactions, sampleTransaction],
  ['traces', traces, sampleTrace],
  ['blocks', blocks, sampleBlock],
  ['actions', actions, sampleAction],
  ['jetton_transfers', jettonTransfers, sampleJettonTransfer],
  ['jetton_burns', jettonBurns, sampleJettonBurn],
  ['nft_transfers', nftTransfers, sampleNftTransfer],
  ['validator_events', validatorEvents, sampleValidatorEvent],
  ['validator_complaints', validatorComplaints, () => sampleComplaint({ approved_percent: 66 })],
  ['nominator_events', nominatorEvents, sampleNominatorEvent],
  ['nominator_pool_events', nominatorPoolEvents, samplePoolEvent],
];

describe.each(datasets)('jobs/%s', (_name, job, make) => {
  const sample = make();

  it('writes the same bytes, quarantine, extra and positions by both readers', async () => {
    let [taken, viewed, refused] = [0, 0, 0];
    await fc.assert(
      fc.asyncProperty(page, async ({ records, isEscaped }) => {
        const body = bodyOf(
          job.list,
          records.map(({ changes, form }) => FORMS[form](changed(sample, changes))),
          isEscaped,
        );
        const [one, other] = [await fast(job, body), carefully(job, body)];
        expect(one.reading.rejected).toEqual(other.reading.rejected);
        expect(one.reading.positions).toEqual(other.reading.positions);
        expect(one.reading.accepted.map(({ extra, index }) => ({ extra, index }))).toEqual(
          other.reading.accepted.map(({ extra, index }) => ({ extra, index })),
        );
        expect(one.reading.joins).toEqual(other.reading.joins);
        expect(one.written).toEqual(other.written);
        expect(await byBytes(job, body)).toEqual(parsed(job, body));
        viewed += await views(job, body);
        taken += one.reading.accepted.length;
        refused += one.reading.rejected.length;
      }),
      { seed: 17, numRuns: runs(150) },
    );
    expect(viewed).toBeGreaterThan(runs(20));
    expect(taken - viewed).toBeGreaterThan(runs(20));
    expect(refused).toBeGreaterThan(runs(20));
  });

  it('gives the same result whatever one member becomes', async () => {
    let [count, viewed] = [0, 0];
    const all = singleChanges(sample);
    for (const one of some(all, Math.ceil(all.length / 10))) {
      const body = bodyOf(job.list, [JSON.stringify(changed(sample, [one]))], false);
      expect(await byBytes(job, body)).toEqual(parsed(job, body));
      viewed += await views(job, body);
      count += 1;
    }
    expect(viewed).toBeGreaterThan(count / 20);
    expect(count - viewed).toBeGreaterThan(count / 20);
  });

  it('gives the same result for a damaged body by its bytes and parsed as a whole', async () => {
    let [read, broken] = [0, 0];
    await fc.assert(
      fc.asyncProperty(fc.array(damage, { maxLength: 3 }), async (damages) => {
        const whole = JSON.stringify({ [job.list]: [sample, make()], start_utime: 1, address_book: {} });
        const body = Buffer.from(damaged(whole, damages));
        const one = await outcome(() => parsed(job, body));
        const other = await outcome(() => byBytes(job, body));
        // A broken record is reported alone.
        if (typeof one === 'string') expect(other).toEqual(expect.any(String));
        else expect(other).toEqual(one);
        if (typeof one === 'string') broken += 1;
        else read += 1;
      }),
      { seed: 17, numRuns: runs(150) },
    );
    expect(read).toBeGreaterThan(runs(20));
    expect(broken).toBeGreaterThan(runs(20));
  });
});
