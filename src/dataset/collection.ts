import type { ZodType } from 'zod';
import type { Choices } from '../settings/config.ts';
import { spanOfSecond, secondOfTime } from '../range.ts';
import {
  type Tables,
  type Put,
  memberAt,
  canonicalOf,
  hashOf,
  readRecord,
  type Extra,
} from './declaration/record.ts';
import { nameable, type Rejected } from './job.ts';
import type { Params } from './paginators/paginator.ts';
import type { HistoryPosition } from './paginators/backward.ts';
import { batches, type BatchOptions, type BatchPaginator } from './paginators/lookup.ts';

interface CollectionSpec {
  /** One line: what the dataset is. */
  readonly title: string;
  /** What no reading of it can show; printed by `datasets NAME`. */
  readonly limitations: string;
  /** If true, `all` does not include it: it is read only if it is chosen by name. */
  readonly onRequest?: true;
  /**
   * The member of other responses that contains its records as a map at no cost. They are stored from there
   * too, which saves look-ups. The first walk reads them.
   */
  readonly piggybackedAs?: 'address_book' | 'metadata';
  /** The tables of its rows by name, its own first. */
  readonly tables: Tables;
  readonly walks: readonly Walk[];
}

/** A dataset that is not a stream of time: facts and pure functions, like a stream's job. */
export interface CollectionJob extends CollectionSpec {
  readonly kind: 'collection';
  readonly core: false;
}

/** Defines a dataset in `jobs/` that is not a stream of time. A stream is defined with `defineJob`. */
export function defineCollection(spec: CollectionSpec): CollectionJob {
  return { ...spec, kind: 'collection', core: false };
}

/** The endpoint of a walk (`path` of v3, or `method` of v2) and its records. */
export type WalkSpec<Rec> = WalkEndpoint &
  RecordSpec<Rec> & {
    /** Parameters besides those of the paging. They may depend on settings. */
    readonly params?: Params | ((choices: Choices) => Params);
    readonly shape: ResponseShape;
  };

/** Reads a list by offset, and what is appended to it. */
export function list<Rec>(spec: WalkSpec<Rec>): ListWalk {
  return { kind: 'list', ...common('list', spec) };
}

interface LookupOptions {
  /** The name of the walk within its dataset; default `lookup`. */
  readonly name?: string;
  /** How keys become parameters. If omitted, each request is for one subject, and its fields are the parameters. */
  readonly batch?: BatchOptions;
  readonly subjects: Subjects;
  /** The member of a record that names its subject, and the member with its last logical time, if there is one. */
  readonly answers: { readonly key: string; readonly lt?: string };
  /** A known subject is looked up again after this time. If omitted, only when it has moved. */
  readonly refreshSeconds?: number;
  /** A subject that the source does not know is not looked up again for this time. Default: an hour. */
  readonly unknownForSeconds?: number;
}

/** Looks up subjects by name. */
export function lookup<Rec>(spec: WalkSpec<Rec> & LookupOptions): LookupWalk {
  const {
    batch = { param: '', most: 1 },
    subjects,
    answers,
    refreshSeconds,
    unknownForSeconds = 3600,
  } = spec;
  return {
    kind: 'lookup',
    ...common(spec.name ?? 'lookup', spec),
    paginator: batches(batch),
    subjects,
    refreshSeconds,
    unknownForSeconds,
    answers: (raw) => {
      const record = canonicalOf(spec.record, raw);
      const key = memberText(record, answers.key);
      const lt = answers.lt === undefined ? undefined : memberText(record, answers.lt);
      return key === undefined ? undefined : { key, lt };
    },
  };
}

/** Reads the history of each watched account backwards. `position`: the members with a record's lt and hash. */
export function backward<Rec>(
  spec: WalkSpec<Rec> & { readonly position: { readonly lt: string; readonly hash: string } },
): BackwardWalk {
  const { position } = spec;
  return {
    kind: 'backward',
    ...common('backward', spec),
    positionOf: (raw) => {
      const record = canonicalOf(spec.record, raw);
      const [lt, hash] = [memberText(record, position.lt), memberText(record, position.hash)];
      return lt === undefined || hash === undefined ? undefined : { lt, hash };
    },
  };
}

/** Sends a request for each masterchain block of a range of time. */
export function perBlock<Rec>(spec: WalkSpec<Rec> & Pick<PerBlockWalk, 'isWhole'>): PerBlockWalk {
  return {
    kind: 'per_block',
    ...common('per_block', spec),
    isWhole: (records) => spec.isWhole(records.map((raw) => canonicalOf(spec.record, raw))),
  };
}

/** Stores what the source says now, at most once in `everySeconds`. */
export function sample<Rec>(
  spec: WalkSpec<Rec> & Pick<SampleWalk, 'everySeconds'> & { readonly name?: string },
): SampleWalk {
  return { kind: 'sample', ...common(spec.name ?? 'sample', spec), everySeconds: spec.everySeconds };
}

function common<Rec>(name: string, spec: WalkSpec<Rec>): AnyWalk {
  const { shape, params = {} } = spec;
  return {
    name,
    endpoint: 'path' in spec ? { path: spec.path, index: spec.index } : { method: spec.method },
    shape,
    params: (choices) => (typeof params === 'function' ? params(choices) : params),
    read: (records, asked, first) => readResponse(spec, records, asked, first),
  };
}

/** The records of a walk. */
interface RecordSpec<Rec> {
  /** Strict, like a stream's record: see `defineJob`. */
  readonly record: ZodType<Rec>;
  /** Members (dotted paths) that together identify a record, for the quarantine. */
  readonly id: readonly string[];
  /** Puts the rows of a record, one after another, like a stream's `rows`. */
  readonly rows: (record: Rec, extra: Extra, put: Put, asked: Asked) => void;
}

/** Reads the records of a response; the first one has the rank `first`. */
function readResponse<Rec>(
  { record, rows, id }: RecordSpec<Rec>,
  raws: readonly unknown[],
  asked: Omit<Asked, 'rank'>,
  first: number,
): ResponseReading {
  const fitting: ResponseReading['fitting'][number][] = [];
  const rejected: Rejected[] = [];
  for (const [index, raw] of raws.entries()) {
    const canonical = canonicalOf(record, raw);
    const name = nameOf(canonical, id);
    const reading = readRecord(record, { raw, canonical });
    if (reading.ok) {
      const { record: read, extra } = reading;
      const own = { ...asked, rank: first + index };
      fitting.push({ id: name, put: (put) => rows(read, extra, put, own), extra, canonical });
    } else {
      const utime = secondOfTime(asked.at);
      const position = { utime, lt: '0', id: name };
      rejected.push({
        position,
        span: spanOfSecond(utime),
        path: reading.path,
        reason: reading.reason,
        raw,
      });
    }
  }
  return { fitting, rejected };
}

/** The text of a member by dotted path; undefined if it is neither text nor a number. */
function memberText(raw: unknown, path: string): string | undefined {
  const value = memberAt(raw, path.split('.'));
  return typeof value === 'string' || typeof value === 'number' ? String(value) : undefined;
}

function nameOf(raw: unknown, id: readonly string[]): string {
  const parts = id.map((path) => memberText(raw, path));
  return parts.length > 0 && parts.every((part) => part !== undefined)
    ? nameable(parts.join('/'))
    : hashOf(raw);
}

/** A subject of a look-up: an address, a block, a message. */
export interface Subject {
  /** Its name: the raw address, or a text of the source. */
  readonly key: string;
  /** Further columns of the source that a request needs; empty for addresses. */
  readonly fields: Readonly<Record<string, string>>;
}

/** The request that a record answers. */
export interface Asked {
  /** When the response came, ISO 8601. */
  readonly at: string;
  /** The single subject of the request: its key, or a block's seqno. Empty if there were several. */
  readonly key: string;
  /** The index of the record in the endpoint's whole list, from 0. */
  readonly rank: number;
}

/**
 * A v3 path below the host, with the server's index that its requests use (in the words of the server's
 * schema; if there is none, what the server scans instead). Or a v2 method, which has no index.
 */
export type WalkEndpoint = { readonly path: string; readonly index: string } | { readonly method: string };

/**
 * How a response contains its records: in a member, as its elements, or as the values of a map (each gets its
 * key as member `address`). With `one`, the response is the record.
 */
export type ResponseShape = { readonly member: string } | 'array' | 'map' | 'one';

/** A record that fits its schema. */
interface Fitting {
  readonly id: string;
  /** Puts its rows. */
  readonly put: (put: Put) => void;
  readonly extra: Extra;
  readonly canonical: unknown;
}

/** The records of a response, after reading. */
export interface ResponseReading {
  readonly fitting: readonly Fitting[];
  readonly rejected: readonly Rejected[];
}

/** What all walks have. */
interface AnyWalk {
  /** Name of the walk within its dataset, for its cursor. */
  readonly name: string;
  readonly endpoint: WalkEndpoint;
  /** Parameters besides those of the paging. They may depend on settings. */
  readonly params: (choices: Choices) => Params;
  readonly shape: ResponseShape;
  /** Reads the records of a response; the first one has the rank `first`. */
  readonly read: (records: readonly unknown[], asked: Omit<Asked, 'rank'>, first: number) => ResponseReading;
}

/**
 * A list that grows at its end, in a fixed order. It is read by offset, and completely again on a schedule,
 * because its rows change and because a smaller id may be committed late.
 */
export interface ListWalk extends AnyWalk {
  readonly kind: 'list';
}

/** A relation whose rows name subjects. */
export interface SeenIn {
  /** Table or view, with its schema. */
  readonly relation: string;
  /** The column that names the subject. */
  readonly key: string;
  /** The column with the logical time up to which a row shows that the subject moved. */
  readonly lt?: string;
  /** Further columns that a request needs. */
  readonly fields?: readonly string[];
  /** When a row came: chain time for rows of a stream, else the time of writing. */
  readonly time: 'utime' | 'loaded_at';
}

/** The sources of subjects. */
export interface Subjects {
  /** True if the accounts of the watch list are included. */
  readonly watched: boolean;
  /** Relations over indexed rows. */
  readonly seenIn: readonly SeenIn[];
  /** True if `seenIn` only counts if the operator chose to read all accounts that are seen. */
  readonly onlyIfSeen?: boolean;
  /** True if only subjects count that the relations name in the requested range of time. */
  readonly ofRange?: boolean;
  /** True if a probe first asks how far the watched accounts have moved, with one request for 1000 of them. */
  readonly probed?: boolean;
}

/** Looks up subjects by name, in batches: subjects that are new, have moved, or were unknown a while ago. */
export interface LookupWalk extends AnyWalk {
  readonly kind: 'lookup';
  readonly paginator: BatchPaginator;
  readonly subjects: Subjects;
  /** Reads the subject of a record, and the logical time up to which the record is valid. */
  readonly answers: (
    record: unknown,
  ) => { readonly key: string; readonly lt: string | undefined } | undefined;
  /** A known subject is looked up again after this time even if it has not moved; undefined: never. */
  readonly refreshSeconds: number | undefined;
  /** A subject that the source does not know is not looked up again for this time. */
  readonly unknownForSeconds: number;
}

/** Reads the history of each watched account, newest first. New transactions are read from the head. */
export interface BackwardWalk extends AnyWalk {
  readonly kind: 'backward';
  /** The position of a record in its account's history; undefined if it does not contain one. */
  readonly positionOf: (record: unknown) => HistoryPosition | undefined;
}

/** One response for each masterchain block of a range of time. */
export interface PerBlockWalk extends AnyWalk {
  readonly kind: 'per_block';
  /** False if the records show that a 200 was cut short: then the request is retried. */
  readonly isWhole: (records: readonly unknown[]) => boolean;
}

/** What the source says now: one row a poll, at most once in `everySeconds`. */
export interface SampleWalk extends AnyWalk {
  readonly kind: 'sample';
  readonly everySeconds: number;
}

/** How a dataset that is not a stream of time is read. */
export type Walk = ListWalk | LookupWalk | BackwardWalk | PerBlockWalk | SampleWalk;
