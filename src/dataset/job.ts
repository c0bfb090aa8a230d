import { createHash } from 'node:crypto';
import type { ZodType } from 'zod';
import {
  collectRows,
  type Rows,
  type Tables,
  type Put,
  canonicalOf,
  hashOf,
  isObject,
  NOTHING,
  readRecord,
  timeOfRow,
  type Extra,
} from './declaration/record.ts';
import { isViewOf, rawOf } from './bytes/view.ts';
import type { Joins, Paginator, Params, Position, WholeSecondsPaginator } from './paginators/paginator.ts';
import { ALWAYS, DAY, formatTime, readSeconds, spanOfSecond, type Range } from '../range.ts';

interface JobSpec<Cursor, Rec, T extends Tables> {
  /** One line: what the dataset is. */
  readonly title: string;
  /** Chosen by `ETL_DATASETS=core`. */
  readonly core?: boolean;
  /** Path below the host, and the constant parameters. */
  readonly path: string;
  readonly params?: Params;
  /** The member of the response that holds the records. */
  readonly list: string;
  readonly index: ServerIndex;
  readonly paginator: Paginator<Cursor>;
  /**
   * The schema of one record. It is strict, so that unknown members are noticed. A record that does not fit
   * goes to quarantine; unknown members go to the row's `extra`.
   */
  readonly record: ZodType<Rec>;
  readonly position: PositionMembers;
  /** The tables that `rows` fills, by name, the dataset's own first. */
  readonly tables: T;
  /**
   * Puts the rows of a record, one after another. `extra` has the members that the schema does not name.
   * Columns of members are filled by the schema; the rest is given here.
   */
  readonly rows: (record: Rec, extra: Extra, put: Put) => void;
  /**
   * For endpoints that may cut a 200 short: see `Page.joins`. Gets all records, including those that go to
   * quarantine, because these belong to the page too.
   */
  readonly joinsOf?: (raws: readonly unknown[]) => Joins | undefined;
  /** How far to stay behind the watermark, if the dataset's endpoint lags behind the chain. */
  readonly delaySeconds?: number;
  /** Minimum seconds between two requests of the tail, if the dataset is not worth a request in each round. */
  readonly everySeconds?: number;
  /** Set if the endpoint answers for one address at a time: each has its own coverage. */
  readonly scopes?: Scopes;
  /**
   * An endpoint that returns the same records by masterchain block: the last resort of repair, if windows of
   * time leave records out again and again.
   */
  readonly byBlock?: ByBlockRequest;
  /** Set if its pages also contain whole rows of another dataset. */
  readonly alsoHolds?: AlsoHolds;
  /** The checks of its rows; `{}` if there are none, so that no second is ever verified. */
  readonly checks: Checks;
  /** What a verified second of the dataset guarantees; required if there are checks. */
  readonly grade?: GradeFacts;
}

/** The index of the server that a request for some seconds uses. */
export interface ServerIndex {
  /** The columns of the index, in the words of the server's schema; if there is none, what the server scans instead. */
  readonly columns: string;
  /** The first column of the index. If it is `lt`, requests send the logical times of the seconds, too. */
  readonly of: 'utime' | 'lt' | 'none';
}

/** Options that need whole seconds. */
interface OfWholeSeconds<Cursor> {
  readonly paginator: WholeSecondsPaginator<Cursor>;
  /**
   * A covered second is read again (pass 1) at this age. For rows that mature, and for datasets without a
   * checksum, of which two readings must agree.
   */
  readonly maturitySeconds?: number;
  /**
   * Set if rows may vanish: the rows of each completed second replace all stored rows of that second. If a
   * second is larger than a page, all of its pages are gathered first.
   */
  readonly replacesRows?: true;
}

/** The pages of other paginators may end within a second, whose rows are then in two commits. */
interface OfParts {
  readonly maturitySeconds?: never;
  readonly replacesRows?: never;
}

/** How records are requested by masterchain block. */
export interface ByBlockRequest {
  readonly path: string;
  /** The request parameter for the block's number. */
  readonly param: 'seqno' | 'mc_seqno';
}

/** Another dataset whose rows come with a dataset's pages. */
export interface AlsoHolds {
  readonly dataset: string;
  /** The dataset that counts these rows. If it is proved, the rows need not be requested. */
  readonly countedBy: string;
}

/**
 * The addresses that a dataset is read for, one value of a request parameter at a time: nominator pools from the watch
 * list and from indexed rows.
 */
export interface Scopes {
  /** The request parameter for the address. */
  readonly param: string;
  /** The column with the address in the rows of every table of the job. */
  readonly column: string;
  /** The source of addresses that are not known yet: a column of another dataset's rows. */
  readonly seenIn: { readonly dataset: string; readonly column: string };
}

/** A record that does not go to quarantine. */
export interface AcceptedRecord {
  readonly position: Position;
  readonly extra: Extra;
  /** Its index in the response. */
  readonly index: number;
  /** Puts its rows. */
  readonly put: (put: Put) => void;
  /** Its rows as objects, created on access. */
  readonly rows: Rows;
}

/**
 * A record that goes to quarantine: kept whole, with the path and the reason. Its schema refuses it, it does not follow
 * from the records before it, or one of its rows is dated after it.
 */
export interface Rejected {
  readonly position: Position;
  /** The seconds in which it may be: its own, or those between its neighbors if its own cannot be read. */
  readonly span: Range;
  readonly path: string;
  readonly reason: string;
  readonly raw: unknown;
}

/** The records of a response, after reading. */
export interface RecordsReading {
  /** One for each record, in the order received. */
  readonly positions: readonly Position[];
  readonly accepted: readonly AcceptedRecord[];
  readonly rejected: readonly Rejected[];
  readonly joins?: Joins;
}

/** A dataset that is a stream of time: facts and pure functions. Its name is its file's name in `jobs/`. */
export interface Job extends Omit<JobSpec<unknown, unknown, Tables>, 'rows' | 'joinsOf' | 'position'> {
  readonly kind: 'stream';
  readonly core: boolean;
  readonly params: Params;
  readonly record: ZodType;
  readonly grade: GradeFacts;
  readonly maturitySeconds?: number;
  readonly replacesRows: boolean;
  /**
   * Reads the records of a response. Views were checked as bytes; other records are parsed with their schema.
   */
  read(records: readonly unknown[]): RecordsReading;
}

export function defineJob<Cursor, Rec, T extends Tables>(
  spec: JobSpec<Cursor, Rec, T> & (OfWholeSeconds<Cursor> | OfParts),
): Job {
  const defaults = { core: false, params: {}, replacesRows: false, grade: UNCHECKED };
  return { ...defaults, ...spec, kind: 'stream', read: (records) => readAll(spec, records) };
}

function readAll<Cursor, Rec, T extends Tables>(
  spec: JobSpec<Cursor, Rec, T>,
  raws: readonly unknown[],
): RecordsReading {
  const sorted = raws.map((raw) => toSchemaForm(spec.record, raw));
  const canonical = sorted.map((one) => one.canonical);
  const placed = withPositions(spec.position, canonical);
  const positions = placed.map(({ position }) => position);
  const accepted: AcceptedRecord[] = [];
  const rejected: Rejected[] = [];
  const joins = spec.joinsOf?.(canonical);
  const misplaced = new Set(joins?.misplaced);
  for (const [index, one] of sorted.entries()) {
    const { raw } = one;
    const { position, span } = placed[index] ?? withoutPosition(raw, undefined, undefined);
    const reading = one.isTaken
      ? ({ ok: true, record: one.canonical, extra: NOTHING } as const)
      : readRecord(spec.record, one);
    if (!reading.ok) {
      rejected.push({ position, span, path: reading.path, reason: reading.reason, raw });
      continue;
    }
    const { record, extra } = reading;
    // Rows are computed again when they are written. If they were kept, V8 would move them to its old generation.
    const put = (to: Put) => spec.rows(record, extra, to);
    const isLate = lastTimeOf(put) > formatTime(position.utime);
    const refusal = misplaced.has(index) ? MISPLACED : isLate ? LATE : undefined;
    if (refusal !== undefined) rejected.push({ position, span, ...refusal, raw: rawOf(raw) });
    else accepted.push(new RecordWithRows(spec.tables, { put, position, index, extra }));
  }
  return { positions, accepted, rejected, ...(joins !== undefined && { joins }) };
}

const MISPLACED = { path: 'shard', reason: 'does not follow from the blocks before it' };

/** A row in the future would need a partition there, which retention would drop last. */
const LATE = { path: 'utime', reason: 'a row of this record is dated after the record itself' };

/** A raw record, and its form for the schema. A view already has that form. */
type SchemaForm<Rec> =
  | { readonly isTaken: true; readonly raw: Rec; readonly canonical: Rec }
  | { readonly isTaken: false; readonly raw: unknown; readonly canonical: unknown };

function toSchemaForm<Rec>(schema: ZodType<Rec>, raw: unknown): SchemaForm<Rec> {
  return isViewOf(schema, raw)
    ? { isTaken: true, raw, canonical: raw }
    : { isTaken: false, raw, canonical: canonicalOf(schema, raw) };
}

/** The latest block time among the rows of a record. */
function lastTimeOf(putRows: (put: Put) => void): string {
  let last = '';
  putRows((rowLayout, record, given) => {
    const time = timeOfRow(rowLayout, record, given) ?? '';
    if (time > last) last = time;
  });
  return last;
}

/** `rows` is a getter of the class: an object with a getter of its own takes a microsecond and a kilobyte to create. */
class RecordWithRows implements AcceptedRecord {
  readonly position: Position;
  readonly extra: Extra;
  readonly index: number;
  readonly put: (put: Put) => void;
  private readonly tables: Tables;

  constructor(tables: Tables, { position, extra, index, put }: Omit<AcceptedRecord, 'rows'>) {
    this.position = position;
    this.extra = extra;
    this.index = index;
    this.put = put;
    this.tables = tables;
  }

  get rows(): Rows {
    return collectRows(this.tables, this.put);
  }
}

interface Placed {
  readonly position: Position;
  readonly span: Range;
}

/** The members that contain a record's position, even if its schema refuses it. */
export interface PositionMembers {
  /** Unix seconds, a number or a string of digits. */
  readonly utime: string;
  /** Logical time; omitted if the records have none. */
  readonly lt?: string;
  /** What distinguishes it from its neighbors: texts or numbers. */
  readonly id: readonly string[];
  /** Separates the parts of `id`. Default: a slash. */
  readonly separator?: string;
}

/** Undefined if the record does not contain its position. */
export function readPosition(members: PositionMembers, raw: unknown): Position | undefined {
  if (!isObject(raw)) return undefined;
  const utime = readSeconds(raw[members.utime]);
  const id = readId(members, raw);
  if (utime === undefined || id === undefined) return undefined;
  const lt = members.lt === undefined ? '0' : raw[members.lt];
  return { utime, lt: typeof lt === 'string' ? lt : '0', id };
}

function readId({ id, separator = '/' }: PositionMembers, raw: Readonly<Record<string, unknown>>) {
  let read = '';
  for (const [index, name] of id.entries()) {
    const part = raw[name];
    if (typeof part !== 'string' && typeof part !== 'number') return undefined;
    read += index === 0 ? String(part) : `${separator}${part}`;
  }
  return nameable(read);
}

/** Record ids are keys of an index, which limits their length. The API has no longer id, so its digest replaces it. */
const LONGEST_NAME = 300;

export function nameable(name: string): string {
  return name.length > LONGEST_NAME ? createHash('sha256').update(name).digest('base64') : name;
}

/** If the position of a record cannot be read, its neighbors in the page bound it: pages are sorted by time. */
function withPositions(members: PositionMembers, raws: readonly unknown[]): Placed[] {
  const read = raws.map((raw) => readPosition(members, raw));
  let before: number | undefined;
  return read.map((position, index) => {
    if (position === undefined)
      return withoutPosition(
        raws[index],
        before,
        read.slice(index).find((later) => later !== undefined)?.utime,
      );
    before = position.utime;
    return { position, span: spanOfSecond(position.utime) };
  });
}

/**
 * The longest distance between a record whose time cannot be read and its only neighbor in the page. Without
 * a neighbor, its time is unknown.
 */
const LONGEST_DISTANCE = DAY;

function withoutPosition(raw: unknown, before: number | undefined, after: number | undefined): Placed {
  const near = before ?? after;
  return {
    position: { utime: near ?? 0, lt: '0', id: hashOf(rawOf(raw)) },
    span:
      near === undefined
        ? ALWAYS
        : { from: before ?? near - LONGEST_DISTANCE, to: (after ?? near + LONGEST_DISTANCE) + 1 },
  };
}

/** The rows of a table that are meant: those of one pool or account, or all. */
export type Scope = { readonly column: string; readonly value: string } | undefined;

/** The rows of `scope`, if the job is read pool by pool. */
export function scopeOf({ scopes }: Pick<Job, 'scopes'>, { scope }: { readonly scope: string }): Scope {
  return scopes && { column: scopes.column, value: scope };
}

/**
 * The checks of a dataset's rows, by name: `src/verify/checks/every-check.ts` has their order. Every dataset is also
 * compared with its seal and its quarantine. A dataset without any check here is never verified.
 */
export interface Checks {
  /** The links between blocks close the range. */
  readonly blocks?: true;
  /** Each block is in the second of its transactions, and not before its parents. */
  readonly 'block-seconds'?: true;
  /** The number of transactions in each block is right. */
  readonly transactions?: true;
  /** The number of messages of each transaction is right, and its balance agrees with their values. */
  readonly messages?: true;
  /** Each transaction continues the state of its account. */
  readonly 'state-chain'?: true;
  /** The number of transactions in each trace is right, and each finished chain of messages is a trace. */
  readonly traces?: true;
  /** Each row belongs to a stored transaction. */
  readonly 'cross-checks'?: CrossCheck;
  /** Each action is part of a stored trace, and so are the transactions that it names. */
  readonly actions?: true;
  /** Two readings at different times agree. */
  readonly 'second-reading'?: true;
}

/** Datasets that must be proved, in the same run, before a check can say anything. */
export function needsOf(check: string): readonly string[] {
  return NEEDS[check] ?? [];
}

const NEEDS: Readonly<Record<string, readonly string[]>> = {
  transactions: ['blocks'],
  traces: ['transactions'],
  'cross-checks': ['transactions'],
  actions: ['traces'],
} satisfies Partial<Record<keyof Checks, readonly string[]>>;

/** How rows refer to transactions. The dataset's first table holds the rows. */
export interface CrossCheck {
  /** The column with the hash of the transaction that a row is about. */
  readonly transaction: string;
  /**
   * The messages that create such rows: those with this opcode to an account that the column names elsewhere
   * in the range.
   */
  readonly made?: { readonly opcode: string; readonly account: string };
}

/** The grades of a verified range, lowest first. A grade implies the lower ones. */
export const GRADES = ['covered', 'cross-checked', 'proved'] as const;

type Grade = (typeof GRADES)[number];

export interface GradeFacts {
  readonly grade: Grade;
  readonly proves: string;
  /** What only reading again (`verify --deep`) can show. */
  readonly limitations: string;
}

/** The grade of a dataset that declares no check. */
const UNCHECKED: GradeFacts = {
  grade: 'covered',
  proves: 'nothing: the dataset declares no check',
  limitations: 'rows and values that the source left out or changed',
};

/** The grade of datasets for which the chain has no checksum. */
export const CROSS_CHECKED: GradeFacts = {
  grade: 'cross-checked',
  proves:
    'two readings apart in time agree in every value, and rows belong to stored transactions, if those are proved',
  limitations: 'rows that the source left out both times, and values that it changed both times',
};
