import type { ZodType } from 'zod';
import type { Choices } from '../settings/config.ts';
import { DAY, spanOfSecond, secondOfTime } from '../range.ts';
import type { Tables, Rows } from './declaration/row-layout.ts';
import { type Params, nameable } from './paginators/paginator.ts';
import { newestFirst } from './paginators/backward.ts';
import { batches, type BatchOptions } from './paginators/lookup.ts';
import { offset } from './paginators/offset.ts';
import { seqnos } from './paginators/seqnos.ts';
import { canonicalOf } from './declaration/canonical.ts';
import type {
  AnyWalk,
  BackwardWalk,
  WalkEndpoint,
  ListWalk,
  LookupWalk,
  PerBlockWalk,
  SampleWalk,
  ResponseShape,
  Subjects,
  Walk,
  ResponseReading,
  Asked,
} from './walk.ts';
import type { Rejected } from './job.ts';
import { hashOf, readRecord, type Extra } from './declaration/record.ts';

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
export interface CollectionJob {
  readonly kind: 'collection';
  readonly core: false;
  readonly title: string;
  readonly limitations: string;
  readonly onRequest: boolean;
  readonly piggybackedAs: 'address_book' | 'metadata' | undefined;
  readonly tables: Tables;
  readonly walks: readonly Walk[];
}

/** Defines a dataset in `jobs/` that is not a stream of time. A stream is defined with `defineJob`. */
export function defineCollection(spec: CollectionSpec): CollectionJob {
  const { onRequest = false, piggybackedAs } = spec;
  return { kind: 'collection', core: false, ...spec, onRequest, piggybackedAs };
}

/** The endpoint of a walk (`path` of v3, or `method` of v2) and its records. */
export type WalkSpec<Rec> = WalkEndpoint &
  RecordSpec<Rec> & {
    /** Parameters besides those of the paging. They may depend on settings. */
    readonly params?: Params | ((choices: Choices) => Params);
    readonly shape: ResponseShape;
  };

interface ListOptions {
  readonly rescanSeconds?: number;
  readonly everySeconds?: number;
}

/**
 * Reads a list by offset: the whole list after each `rescanSeconds` (default: a day), and appended rows after
 * each `everySeconds` (default: 5 minutes).
 */
export function list<Rec>(spec: WalkSpec<Rec> & ListOptions): ListWalk {
  const { rescanSeconds = DAY, everySeconds = 300 } = spec;
  return { kind: 'list', ...common('list', spec), paginator: offset(), rescanSeconds, everySeconds };
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
    paginator: newestFirst(),
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
    paginator: seqnos(),
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
  readonly rows: (record: Rec, extra: Extra, asked: Asked) => Rows;
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
      const { extra } = reading;
      const written = rows(reading.record, extra, { ...asked, rank: first + index });
      fitting.push({ id: name, rows: written, extra, canonical });
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
  let value = raw;
  for (const name of path.split('.')) {
    value = typeof value === 'object' && value !== null ? Reflect.get(value, name) : undefined;
  }
  return typeof value === 'string' || typeof value === 'number' ? String(value) : undefined;
}

function nameOf(raw: unknown, id: readonly string[]): string {
  const parts = id.map((path) => memberText(raw, path));
  return parts.length > 0 && parts.every((part) => part !== undefined)
    ? nameable(parts.join('/'))
    : hashOf(raw);
}
