import { UsageError } from '../errors.ts';
import { didYouMean } from '../nearest.ts';

/** Rows of an endpoint that the server cannot serve: those with a value, or a share of all rows (0 to 1). */
export type UnservableRows = { readonly path: string } & (
  { readonly member: string; readonly value: string } | { readonly share: number }
);

/**
 * All faults that can be injected. The object is read at each request, so a test may change it while the simulator
 * runs. Probabilities are 0 to 1 per request, drawn from a seeded stream; an absent one means never.
 */
export interface Faults {
  /** A list request with a greater limit fails with a 500 that mentions a timeout. */
  timeoutAboveLimit?: number;
  /** A list request with a greater limit is answered as if it had asked for this many rows. */
  capLimit?: number;
  /** A greater limit is refused with this number, as if the server were configured with a smaller limit. */
  maxLimit?: number;
  /** Prefixes of paths that the server does not have. */
  absent?: readonly string[];
  /** Rows that the server cannot serve: every response with one of them fails as a whole. */
  unservable?: readonly UnservableRows[];
  /** How such a response fails; default 500: an error with that status, a timeout, or a 200 whose JSON is broken. */
  unservableAs?: '500' | '422' | 'timeout' | 'broken';
  /**
   * The number of rows of actions that are scanned a second; a query has three seconds. There is no index on the
   * second in which an action's trace ends: without lts a request scans all rows, with lts those within them.
   */
  scanSpeed?: number;
  /** 500 with the text of a statement timeout. */
  timeout?: number;
  /** Begins a storm: this many consecutive requests are refused with 429. */
  storm?: { readonly probability: number; readonly length: number };
  /** How the refusals of a storm say when to retry; absent: they do not. */
  stormSays?: 'seconds' | 'date';
  /** Refuses a correct request, with one of the statuses and bodies that servers and gateways use. */
  refusal?: number;
  /** 502 with a page of HTML, as a gateway sends it. */
  badGateway?: number;
  /** The connection is closed before the response. */
  reset?: number;
  /** The connection is closed in the middle of the body. */
  resetInBody?: number;
  /** 200 with the first part of the JSON as a whole body. */
  truncatedJson?: number;
  /** The body comes in pieces over `slowBodyMs`. */
  slowBody?: number;
  /** Default 1000. */
  slowBodyMs?: number;
  /** The body stops in its middle, and the connection stays open. */
  silentBody?: number;
  /** The connection stays open, and no response is sent. */
  silentHead?: number;
  /** The body comes one byte a second. */
  dribble?: number;
  /** Endless headers, as fast as they are read. */
  endlessHead?: number;
  /** An endless body, as fast as it is read. */
  endlessBody?: number;
  /**
   * 200 with only the first rows, on the three endpoints of blocks: the real server does that if its query is
   * interrupted.
   */
  shortBlocks?: number;
  /** A replica answers whose head is `staleSeconds` behind (default 20). */
  stale?: number;
  staleSeconds?: number;
  /**
   * Some masterchain blocks, and everything that they registered, become visible late, by this many `seconds` of
   * chain time.
   */
  lateBlocks?: { readonly probability: number; readonly seconds: number };
  /**
   * This share of shard blocks (0 to 1) is reorganised: for `seconds` of chain time after they were registered, they
   * and their transactions have other hashes, in every response.
   */
  reorganise?: { readonly probability: number; seconds: number };
  /** Masterchain blocks that are hidden while they are listed here; bounds are seqnos, inclusive. */
  holes?: readonly { readonly from: number; readonly to: number }[];
  /**
   * Blocks of shards that are hidden, with their contents, while they are listed here: those made between two
   * seconds, both inclusive, of one shard or of all.
   */
  lostBlocks?: readonly { readonly shard?: string; readonly from: number; readonly to: number }[];
  /** After each split, the right child's blocks of the first seconds become visible only when those are over. */
  lateSplit?: { readonly seconds: number };
  /**
   * The actions of a trace appear between `least` (default 0) and `most` seconds of chain time after its last
   * transaction; each trace has its own delay.
   */
  lateActions?: { readonly least?: number; readonly most: number };
  /**
   * The share of traces (0 to 1) that are classified twice. For `seconds` of chain time after their first actions
   * appeared they show other actions (other ids, other types, fewer, or none), then the final ones. Some have no final
   * ones: their actions vanish.
   */
  reclassify?: { readonly probability: number; readonly seconds: number };
  /** A copy whose head is this many seconds behind answers for validators and pools. */
  staleEvents?: number;
  /** The limiter refuses at 60 % of the rate that it claims. */
  lieAboutLimit?: boolean;
}

/** Reads the text after `NAME=`; undefined if it is not such a value. */
type FaultReader<T> = (text: string) => T | undefined;

const AS = ['500', '422', 'timeout', 'broken'] as const;

interface Fault<T> {
  readonly read: FaultReader<T>;
  /** How a value is written. */
  readonly form: string;
  /** The fault, in a sentence. */
  readonly does: string;
}

const CHANCE = 'a probability from 0 to 1';
const chance = (does: string): Fault<number> => ({ read: probability, form: CHANCE, does });
const counted = (form: string, does: string): Fault<number> => ({ read: count, form, does });
const share = (
  example: string,
  does: string,
): Fault<{ readonly probability: number; readonly seconds: number }> => ({
  read: pair(probability, count, (probability, seconds) => ({ probability, seconds })),
  form: `PROBABILITYxSECONDS, such as ${example}`,
  does,
});

/** One for each fault: a new one that is forgotten here does not compile. */
const FAULTS: { readonly [Name in keyof Required<Faults>]: Fault<Required<Faults>[Name]> } = {
  timeoutAboveLimit: counted('a number of rows', 'A list that is asked for more rows times out (500).'),
  capLimit: counted('a number of rows', 'A list never has more rows, whatever limit is asked for.'),
  maxLimit: counted('a number of rows', 'A greater limit is refused, with this number.'),
  absent: {
    read: list((text) => (text.startsWith('/') ? text : undefined)),
    form: 'beginnings of paths, such as /api/v2,/api/v3/dns',
    does: 'The server has no such paths (404).',
  },
  unservable: {
    read: list(rows),
    form: 'PATH:MEMBER=VALUE or PATH:SHARE, such as /api/v3/jetton/burns:0.01',
    does: 'Every page with such a row fails.',
  },
  unservableAs: {
    read: (text) => AS.find((one) => one === text),
    form: '500, 422, timeout or broken',
    does: 'How a page with an unservable row fails.',
  },
  scanSpeed: counted(
    'rows a second',
    'Queries of actions look through this many rows a second, and time out after three seconds.',
  ),
  timeout: chance('The database of the server times out (500).'),
  storm: {
    read: pair(probability, count, (probability, length) => ({ probability, length })),
    form: 'PROBABILITYxREQUESTS, such as 0.01x20',
    does: 'So many requests in a row are refused for their rate (429).',
  },
  stormSays: {
    read: (text) => (text === 'seconds' || text === 'date' ? text : undefined),
    form: 'seconds or date',
    does: 'How Retry-After is written in a storm; without it a storm says nothing.',
  },
  refusal: chance('A request is refused for no reason of its own (400 to 404).'),
  badGateway: chance('A gateway answers 502 with a page of HTML.'),
  reset: chance('The connection is cut before a response.'),
  resetInBody: chance('The connection is cut in the middle of the body.'),
  truncatedJson: chance('The body is the first part of the JSON, with status 200.'),
  slowBody: chance('The body comes in pieces over slowBodyMs.'),
  slowBodyMs: counted('milliseconds', 'How long a slow body takes; default 1000.'),
  silentBody: chance('The body breaks off, and the connection stays open.'),
  silentHead: chance('No response comes, and the connection stays open.'),
  dribble: chance('The body comes one byte a second.'),
  endlessHead: chance('The headers never end.'),
  endlessBody: chance('The body never ends.'),
  shortBlocks: chance('A list of blocks has its first rows only, with status 200.'),
  stale: chance('A server answers whose head lies staleSeconds back.'),
  staleSeconds: counted('seconds', 'How far the head of a stale server lies back; default 20.'),
  lateBlocks: share(
    '0.1x60',
    'This share of masterchain blocks becomes visible this late, with all that they registered.',
  ),
  reorganise: share('0.1x60', 'This share of shard blocks has other hashes for this long.'),
  holes: {
    read: list(span),
    form: 'ranges of masterchain seqnos, such as 100-120,300-301',
    does: 'These masterchain blocks stay invisible.',
  },
  lostBlocks: {
    read: list(span),
    form: 'ranges of unix seconds, such as 1772323500-1772323510',
    does: 'Shard blocks of these seconds stay invisible, with all that is in them.',
  },
  lateSplit: {
    read: (text) => wrap(count(text), (seconds) => ({ seconds })),
    form: 'seconds',
    does: 'After a split the right shard becomes visible this late.',
  },
  lateActions: {
    read: (text) => wrap(span(text), ({ from, to }) => ({ least: from, most: to })),
    form: 'the least and the most seconds, such as 1-10',
    does: 'The actions of a trace appear this long after its end.',
  },
  reclassify: share('0.2x300', 'This share of traces shows other actions for this long.'),
  staleEvents: counted(
    'seconds',
    'Events of validators and pools come from a copy whose head lies so far back.',
  ),
  lieAboutLimit: {
    read: (text) => (text === 'true' ? true : text === 'false' ? false : undefined),
    form: 'true or false',
    does: 'The limiter refuses at 60 % of the rate that it names.',
  },
};

const FAULT_NAMES: readonly string[] = Object.keys(FAULTS);

/** Every fault with its effect, and if its value is not a probability, the form of the value. */
export const FAULT_LINES: readonly (readonly [string, string])[] = Object.entries(FAULTS).map(
  ([name, { form, does }]) => [name, form === CHANCE ? does : `${does} Value: ${form}.`],
);

/**
 * `faults` with one more, read from `NAME=VALUE`.
 * @throws UsageError that says which names there are, or how the value is written
 */
export function readFault(text: string, faults: Faults = {}): Faults {
  const [name = '', value = ''] = splitOnce(text, '=');
  if (!isFault(name)) {
    throw new UsageError(`there is no fault "${name}"${didYouMean(name, FAULT_NAMES)}`, {
      hint: `Faults are ${FAULT_NAMES.join(', ')}.`,
    });
  }
  const { read: reader, form } = FAULTS[name];
  const read = reader(value);
  if (read !== undefined) return { ...faults, [name]: read };
  throw new UsageError(`"${value}" is not a value of the fault ${name}`, {
    hint: `Write ${name}= and ${form}.`,
  });
}

function isFault(name: string): name is keyof Faults {
  return Object.hasOwn(FAULTS, name);
}

function splitOnce(text: string, separator: string): string[] {
  const at = text.indexOf(separator);
  return at < 0 ? [text] : [text.slice(0, at), text.slice(at + separator.length)];
}

function number(text: string): number | undefined {
  return /^\d+(\.\d+)?$/.test(text) ? Number(text) : undefined;
}

function probability(text: string): number | undefined {
  const value = number(text);
  return value !== undefined && value <= 1 ? value : undefined;
}

function count(text: string): number | undefined {
  return /^\d+$/.test(text) ? Number(text) : undefined;
}

function span(text: string): { from: number; to: number } | undefined {
  const [from, to] = splitOnce(text, '-').map(count);
  return from === undefined || to === undefined || from > to ? undefined : { from, to };
}

function rows(text: string): UnservableRows | undefined {
  const [path = '', which = ''] = splitOnce(text, ':');
  const [member = '', value] = splitOnce(which, '=');
  const share = probability(which);
  if (!path.startsWith('/') || member === '') return undefined;
  if (value !== undefined) return { path, member, value };
  return share === undefined ? undefined : { path, share };
}

function list<T>(reader: FaultReader<T>): FaultReader<T[]> {
  return (text) => {
    const items = text.split(',').map(reader);
    const read = items.filter((item) => item !== undefined);
    return read.length === items.length ? read : undefined;
  };
}

function pair<A, B, T>(
  first: FaultReader<A>,
  second: FaultReader<B>,
  combine: (a: A, b: B) => T,
): FaultReader<T> {
  return (text) => {
    const [left = '', right = ''] = splitOnce(text, 'x');
    const [a, b] = [first(left), second(right)];
    return a === undefined || b === undefined ? undefined : combine(a, b);
  };
}

function wrap<A, T>(value: A | undefined, make: (value: A) => T): T | undefined {
  return value === undefined ? undefined : make(value);
}
