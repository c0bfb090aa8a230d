import type { Choices } from '../settings/config.ts';
import type { Rejected } from './job.ts';
import type { Rows } from './declaration/row-layout.ts';
import type { Params } from './paginators/paginator.ts';
import type { BackwardPaginator, HistoryPosition } from './paginators/backward.ts';
import type { BatchPaginator } from './paginators/lookup.ts';
import type { OffsetPaginator } from './paginators/offset.ts';
import type { SeqnoPaginator } from './paginators/seqnos.ts';
import type { Extra } from './declaration/record.ts';

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

/** The rows of a record that fits its schema. */
interface Fitting {
  readonly id: string;
  readonly rows: Rows;
  readonly extra: Extra;
  readonly canonical: unknown;
}

/** The records of a response, after reading. */
export interface ResponseReading {
  readonly fitting: readonly Fitting[];
  readonly rejected: readonly Rejected[];
}

/** What all walks have. */
export interface AnyWalk {
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
  readonly paginator: OffsetPaginator;
  /** Seconds between two readings of the whole list. */
  readonly rescanSeconds: number;
  /** Seconds between two checks for appended rows. */
  readonly everySeconds: number;
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
  /** When a row came: chain time for rows of a stream, or the time of writing for others. */
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
  readonly paginator: BackwardPaginator;
  /** The position of a record in its account's history; undefined if it does not contain one. */
  readonly positionOf: (record: unknown) => HistoryPosition | undefined;
}

/** One response for each masterchain block of a range of time. */
export interface PerBlockWalk extends AnyWalk {
  readonly kind: 'per_block';
  readonly paginator: SeqnoPaginator;
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
