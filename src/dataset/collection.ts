import { createHash } from 'node:crypto';
import { stringify } from 'lossless-json';
import type { ZodType } from 'zod';
import type { Choices } from '../config.ts';
import type { Rejected, Rows, Tables } from './job.ts';
import type { Params } from './paginator.ts';
import { readRecord, type Extra } from './record.ts';
import type {
  BackwardPaginator,
  BatchPaginator,
  OffsetPaginator,
  Place,
  SeqnoPaginator,
} from './cursor-paginators.ts';
import { DAY } from '../range.ts';

/** One thing that is asked for: an address, a block, a message. */
export interface Subject {
  /** What names it: the raw address, or a text of the source's own. */
  readonly key: string;
  /** The columns of the source that a request needs besides; empty for addresses. */
  readonly fields: Readonly<Record<string, string>>;
}

/** What a record was an answer to. */
export interface Asked {
  /** When the answer came, ISO 8601. */
  readonly at: string;
  /** What was asked for, where it was one thing: a subject's key, a block's seqno. Else empty. */
  readonly key: string;
  /** Place of the record among all that the endpoint lists, from 0. */
  readonly rank: number;
}

/** A v3 path below the host, or a v2 method. */
export type Endpoint = { readonly path: string } | { readonly method: string };

/**
 * Where an answer holds its records: in a member, as its elements, as the values of a map (each then gets its key as
 * member `address`), or the answer is one.
 */
export type Shape = { readonly member: string } | 'array' | 'map' | 'one';

/** What every walk says of its endpoint and its records. */
export interface WalkSpec<Rec> {
  readonly endpoint: Endpoint;
  /** Parameters beside those of the paging, which may depend on what the operator has chosen. */
  readonly params?: Params | ((choices: Choices) => Params);
  readonly shape: Shape;
  /** Strict, as a stream's record: see `defineJob`. */
  readonly record: ZodType<Rec>;
  /** What names a record, for the quarantine: members joined by "/". */
  readonly id: readonly string[];
  readonly rows: (record: Rec, extra: Extra, asked: Asked) => Rows;
}

/** A record that fits, as rows. */
interface Fitting {
  readonly id: string;
  readonly rows: Rows;
  readonly extra: Extra;
  readonly raw: unknown;
}

/** An answer's records, read. */
export interface AnswerReading {
  readonly fitting: readonly Fitting[];
  readonly rejected: readonly Rejected[];
}

interface Way {
  /** Name of the walk within its dataset, for its cursor. */
  readonly name: string;
  readonly endpoint: Endpoint;
  readonly params: (choices: Choices) => Params;
  readonly shape: Shape;
  readonly read: (records: readonly unknown[], asked: Omit<Asked, 'rank'>, first: number) => AnswerReading;
}

/**
 * A list that grows at its end, in an order that does not change: read by offset, and whole again on a schedule, because
 * its rows change and because a smaller id can be committed late.
 */
export interface ListWalk extends Way {
  readonly kind: 'list';
  readonly paginator: OffsetPaginator;
  /** Seconds after which the whole list is read again. */
  readonly rescan: number;
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

/** Asked by name, in batches: only what is new, has moved since, or was unknown a while ago. */
export interface LookupWalk extends Way {
  readonly kind: 'lookup';
  readonly paginator: BatchPaginator;
  readonly subjects: Subjects;
  /** Whom a record answers for. */
  readonly answers: (raw: unknown) => { readonly key: string; readonly lt: string | undefined } | undefined;
  /** Seconds after which a subject that is known is asked again though nothing shows that it moved. */
  readonly refresh: number | undefined;
  /** Seconds for which a subject that the source does not know is not asked again. */
  readonly unknownFor: number;
}

/** The history of each watched account, newest first, towards its beginning; what is new since is read from the head. */
export interface BackwardWalk extends Way {
  readonly kind: 'backward';
  readonly paginator: BackwardPaginator;
  /** Where a record stands in its account's history; undefined where it does not say. */
  readonly place: (raw: unknown) => Place | undefined;
}

/** One answer for each masterchain block of a range of time. */
export interface PerBlockWalk extends Way {
  readonly kind: 'per_block';
  readonly paginator: SeqnoPaginator;
  /** False where a 200 was cut short, as its records themselves show: then it is asked for again. */
  readonly isWhole: (records: readonly unknown[]) => boolean;
}

/** What the source says just now: a row a look, not more often than every so many seconds. */
export interface SampleWalk extends Way {
  readonly kind: 'sample';
  readonly every: number;
}

/** How a dataset that is no stream of time is read. */
export type Walk = ListWalk | LookupWalk | BackwardWalk | PerBlockWalk | SampleWalk;

interface CollectionSpec {
  /** One line: what the dataset is. */
  readonly title: string;
  /** What no reading of it can tell; printed by `datasets NAME`. */
  readonly blind: string;
  /** Read only where it is named: `all` does not have it. */
  readonly onRequest?: true;
  /**
   * The member of other answers in which its records come as a map, at no cost: they are taken from there too, and
   * look-ups of them are spared. Read by the first walk.
   */
  readonly carriedAs?: 'address_book' | 'metadata';
  /** The tables that its rows go into, by name, its own first. */
  readonly tables: Tables;
  readonly walks: readonly Walk[];
}

/** A dataset that is no stream of time: facts and pure functions, like a stream's job. */
export interface CollectionJob {
  readonly kind: 'collection';
  readonly core: false;
  readonly title: string;
  readonly blind: string;
  readonly onRequest: boolean;
  readonly carriedAs: 'address_book' | 'metadata' | undefined;
  readonly tables: Tables;
  readonly walks: readonly Walk[];
}

/** A dataset in `jobs/` that is no stream of time; a stream is defined with `defineJob`. */
export function defineCollection(spec: CollectionSpec): CollectionJob {
  const { onRequest = false, carriedAs } = spec;
  return { kind: 'collection', core: false, ...spec, onRequest, carriedAs };
}

export function list<Rec>(
  spec: WalkSpec<Rec> & Pick<ListWalk, 'paginator'> & { readonly rescan?: number },
): ListWalk {
  const { paginator, rescan = DAY } = spec;
  return { kind: 'list', ...wayOf('list', spec), paginator, rescan };
}

interface LookupSpec<Rec> extends WalkSpec<Rec> {
  readonly name?: string;
  readonly paginator: BatchPaginator;
  readonly subjects: Subjects;
  /** The member of a record that names its subject, and the one with its last logical time, if there is one. */
  readonly answers: { readonly key: string; readonly lt?: string };
  readonly refresh?: number;
  readonly unknownFor?: number;
}

export function lookup<Rec>(spec: LookupSpec<Rec>): LookupWalk {
  const { paginator, subjects, answers, refresh, unknownFor = 3600 } = spec;
  return {
    kind: 'lookup',
    ...wayOf(spec.name ?? 'lookup', spec),
    paginator,
    subjects,
    refresh,
    unknownFor,
    answers: (raw) => {
      const key = memberOf(raw, answers.key);
      const lt = answers.lt === undefined ? undefined : memberOf(raw, answers.lt);
      return key === undefined ? undefined : { key, lt };
    },
  };
}

export function backward<Rec>(
  spec: WalkSpec<Rec> & Pick<BackwardWalk, 'paginator'> & { readonly place: { lt: string; hash: string } },
): BackwardWalk {
  const { paginator, place } = spec;
  return {
    kind: 'backward',
    ...wayOf('backward', spec),
    paginator,
    place: (raw) => {
      const [lt, hash] = [memberOf(raw, place.lt), memberOf(raw, place.hash)];
      return lt === undefined || hash === undefined ? undefined : { lt, hash };
    },
  };
}

export function perBlock<Rec>(
  spec: WalkSpec<Rec> & Pick<PerBlockWalk, 'paginator' | 'isWhole'>,
): PerBlockWalk {
  const { paginator, isWhole } = spec;
  return { kind: 'per_block', ...wayOf('per_block', spec), paginator, isWhole };
}

export function sample<Rec>(
  spec: WalkSpec<Rec> & Pick<SampleWalk, 'every'> & { readonly name?: string },
): SampleWalk {
  return { kind: 'sample', ...wayOf(spec.name ?? 'sample', spec), every: spec.every };
}

function wayOf<Rec>(name: string, spec: WalkSpec<Rec>): Way {
  const { endpoint, shape, params = {} } = spec;
  return {
    name,
    endpoint,
    shape,
    params: (choices) => (typeof params === 'function' ? params(choices) : params),
    read: (records, asked, first) => readAnswer(spec, records, asked, first),
  };
}

function readAnswer<Rec>(
  { record, rows, id }: WalkSpec<Rec>,
  raws: readonly unknown[],
  asked: Omit<Asked, 'rank'>,
  first: number,
): AnswerReading {
  const fitting: Fitting[] = [];
  const rejected: Rejected[] = [];
  for (const [index, raw] of raws.entries()) {
    const name = nameOf(raw, id);
    const reading = readRecord(record, raw);
    if (reading.ok) {
      const { extra } = reading;
      const written = rows(reading.record, extra, { ...asked, rank: first + index });
      fitting.push({ id: name, rows: written, extra, raw });
    } else {
      const position = { utime: Math.floor(Date.parse(asked.at) / 1000), lt: '0', id: name };
      rejected.push({ position, path: reading.path, reason: reading.reason, raw });
    }
  }
  return { fitting, rejected };
}

/** Text of a member by dotted path; undefined where it is neither text nor number. */
function memberOf(raw: unknown, path: string): string | undefined {
  let value = raw;
  for (const name of path.split('.')) {
    value = typeof value === 'object' && value !== null ? Reflect.get(value, name) : undefined;
  }
  return typeof value === 'string' || typeof value === 'number' ? String(value) : undefined;
}

function nameOf(raw: unknown, id: readonly string[]): string {
  const parts = id.map((path) => memberOf(raw, path));
  if (parts.length > 0 && parts.every((part) => part !== undefined)) return parts.join('/');
  return createHash('sha256')
    .update(stringify(raw) ?? '')
    .digest('base64');
}
