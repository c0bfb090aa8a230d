import type { Choices } from '../settings/config.ts';
import type { Rejected } from './job.ts';
import type { Rows } from './rows.ts';
import type { Params } from './paginators/paginator.ts';
import type { BackwardPaginator, HistoryPlace } from './paginators/backward.ts';
import type { BatchPaginator } from './paginators/lookup.ts';
import type { OffsetPaginator } from './paginators/offset.ts';
import type { SeqnoPaginator } from './paginators/seqnos.ts';
import type { Extra } from './declaration/record.ts';

/** One thing that is asked for: an address, a block, a message. */
export interface Subject {
  /** What names it: the raw address, or a text of the source's own. */
  readonly key: string;
  /** The columns of the source that a request needs besides; empty for addresses. */
  readonly fields: Readonly<Record<string, string>>;
}

/** The question that a record answers. */
export interface Asked {
  /** When the response came, ISO 8601. */
  readonly at: string;
  /** What was asked for, where it was one thing: a subject's key, a block's seqno. Else empty. */
  readonly key: string;
  /** Place of the record among all that the endpoint lists, from 0. */
  readonly rank: number;
}

/**
 * A v3 path below the host, and the index of the server's that its requests ride, in the words of its schema (where
 * there is none, what is looked through instead); or a v2 method, which has none.
 */
export type Endpoint = { readonly path: string; readonly index: string } | { readonly method: string };

/**
 * Where a response holds its records: in a member, as its elements, as the values of a map (each then gets its key as
 * member `address`), or the response is one.
 */
export type ResponseShape = { readonly member: string } | 'array' | 'map' | 'one';

/** A record that fits its schema, as rows. */
interface Fitting {
  readonly id: string;
  readonly rows: Rows;
  readonly extra: Extra;
  readonly canonical: unknown;
}

/** A response's records, read. */
export interface ResponseReading {
  readonly fitting: readonly Fitting[];
  readonly rejected: readonly Rejected[];
}

/** What all walks have. */
export interface AnyWalk {
  /** Name of the walk within its dataset, for its cursor. */
  readonly name: string;
  readonly endpoint: Endpoint;
  /** Parameters beside those of the paging, which may depend on what the operator has chosen. */
  readonly params: (choices: Choices) => Params;
  readonly shape: ResponseShape;
  /** Reads the records of a response, of which the first one has the rank `first`. */
  readonly read: (records: readonly unknown[], asked: Omit<Asked, 'rank'>, first: number) => ResponseReading;
}

/**
 * A list that grows at its end, in an order that does not change: read by offset, and whole again on a schedule, because
 * its rows change and because a smaller id can be committed late.
 */
export interface ListWalk extends AnyWalk {
  readonly kind: 'list';
  readonly paginator: OffsetPaginator;
  /** The whole list is read again so long after it was read. */
  readonly rescanSeconds: number;
  /** So often the daemon asks whether anything was appended. */
  readonly everySeconds: number;
}

/** A relation whose rows name subjects. */
export interface SeenIn {
  /** Table or view, with its schema. */
  readonly relation: string;
  /** Its column that names the subject. */
  readonly key: string;
  /** The column with the logical time up to which a row shows that the subject moved. */
  readonly lt?: string;
  /** Further columns that a request needs. */
  readonly fields?: readonly string[];
  /** When a row came: the chain's time of a stream's rows, or the time of writing of others. */
  readonly time: 'utime' | 'loaded_at';
}

/** Where subjects come from. */
export interface Subjects {
  /** True: the accounts of the watch list are among them. */
  readonly watched: boolean;
  /** Relations over what is indexed. */
  readonly seenIn: readonly SeenIn[];
  /** True: `seenIn` counts only where the operator chose to read all accounts that are seen. */
  readonly onlyIfSeen?: boolean;
  /** True: only what the relations name in the range of time that was asked for. */
  readonly ofRange?: boolean;
  /** True: how far the watched accounts have moved is asked first, a request for 1000 of them. */
  readonly probed?: boolean;
}

/** Subjects asked by name, in batches: only what is new, has moved since, or was unknown a while ago. */
export interface LookupWalk extends AnyWalk {
  readonly kind: 'lookup';
  readonly paginator: BatchPaginator;
  readonly subjects: Subjects;
  /** Reads which subject a record answers for, and the logical time up to which it does. */
  readonly answers: (
    record: unknown,
  ) => { readonly key: string; readonly lt: string | undefined } | undefined;
  /** A known subject is asked again after so long though nothing shows that it moved; undefined: never. */
  readonly refreshSeconds: number | undefined;
  /** A subject that the source does not know is not asked again for so long. */
  readonly unknownForSeconds: number;
}

/** The history of each watched account, newest first, towards its beginning; what is new since is read from the head. */
export interface BackwardWalk extends AnyWalk {
  readonly kind: 'backward';
  readonly paginator: BackwardPaginator;
  /** Where a record stands in its account's history; undefined where it does not say. */
  readonly place: (record: unknown) => HistoryPlace | undefined;
}

/** One response for each masterchain block of a range of time. */
export interface PerBlockWalk extends AnyWalk {
  readonly kind: 'per_block';
  readonly paginator: SeqnoPaginator;
  /** False where a 200 was cut short, as its records themselves show: then it is asked for again. */
  readonly isWhole: (records: readonly unknown[]) => boolean;
}

/** What the source says just now: one row a poll, polled at most once in `everySeconds`. */
export interface SampleWalk extends AnyWalk {
  readonly kind: 'sample';
  readonly everySeconds: number;
}

/** How a dataset that is no stream of time is read. */
export type Walk = ListWalk | LookupWalk | BackwardWalk | PerBlockWalk | SampleWalk;
