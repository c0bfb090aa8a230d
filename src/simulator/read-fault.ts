import { UsageError } from '../errors.ts';
import { didYouMean } from '../nearest.ts';
import type { Faults, UnservableRows } from './faults.ts';

/** Reads the text behind `NAME=`; undefined where it is no such value. */
type FaultReader<T> = (text: string) => T | undefined;

const AS = ['500', '422', 'timeout', 'broken'] as const;

/** One for each fault: a new one that is forgotten here does not compile. */
const READERS: { readonly [Name in keyof Required<Faults>]: FaultReader<Required<Faults>[Name]> } = {
  timeoutAboveLimit: count,
  capLimit: count,
  maxLimit: count,
  absent: list((text) => (text.startsWith('/') ? text : undefined)),
  unservable: list(rows),
  unservableAs: (text) => AS.find((one) => one === text),
  scanSpeed: count,
  timeout: probability,
  storm: pair(probability, count, (chance, length) => ({ probability: chance, length })),
  stormSays: (text) => (text === 'seconds' || text === 'date' ? text : undefined),
  refusal: probability,
  badGateway: probability,
  reset: probability,
  resetInBody: probability,
  truncatedJson: probability,
  slowBody: probability,
  slowBodyMs: count,
  silentBody: probability,
  silentHead: probability,
  dribble: probability,
  endlessHead: probability,
  endlessBody: probability,
  shortBlocks: probability,
  stale: probability,
  staleSeconds: count,
  lateBlocks: pair(probability, count, (chance, seconds) => ({ probability: chance, seconds })),
  reorganise: pair(probability, count, (chance, seconds) => ({ probability: chance, seconds })),
  holes: list(span),
  lostBlocks: list(span),
  lateSplit: (text) => wrap(count(text), (seconds) => ({ seconds })),
  lateActions: (text) => wrap(span(text), ({ from, to }) => ({ least: from, most: to })),
  reclassify: pair(probability, count, (chance, seconds) => ({ probability: chance, seconds })),
  staleEvents: count,
  lieAboutLimit: (text) => (text === 'true' ? true : text === 'false' ? false : undefined),
};

/** How a value is written, where it is not a probability from 0 to 1. */
const FORMS: Readonly<Record<string, string>> = {
  timeoutAboveLimit: 'a number of rows',
  capLimit: 'a number of rows',
  maxLimit: 'a number of rows',
  absent: 'beginnings of paths, such as /api/v2,/api/v3/dns',
  unservable: 'PATH:MEMBER=VALUE or PATH:SHARE, such as /api/v3/jetton/burns:0.01',
  unservableAs: '500, 422, timeout or broken',
  scanSpeed: 'rows a second',
  storm: 'PROBABILITYxREQUESTS, such as 0.01x20',
  stormSays: 'seconds or date',
  slowBodyMs: 'milliseconds',
  staleSeconds: 'seconds',
  lateBlocks: 'PROBABILITYxSECONDS, such as 0.1x60',
  reorganise: 'PROBABILITYxSECONDS, such as 0.1x60',
  holes: 'ranges of masterchain seqnos, such as 100-120,300-301',
  lostBlocks: 'ranges of unix seconds, such as 1772323500-1772323510',
  lateSplit: 'seconds',
  lateActions: 'the least and the most seconds, such as 1-10',
  reclassify: 'PROBABILITYxSECONDS, such as 0.2x300',
  staleEvents: 'seconds',
  lieAboutLimit: 'true or false',
};

/** Every fault's name, for `--help`. */
export const FAULT_NAMES: readonly string[] = Object.keys(READERS);

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
  const read = READERS[name](value);
  if (read !== undefined) return { ...faults, [name]: read };
  throw new UsageError(`"${value}" is not a value of the fault ${name}`, {
    hint: `Write ${name}= and ${FORMS[name] ?? 'a probability from 0 to 1'}.`,
  });
}

function isFault(name: string): name is keyof Faults {
  return Object.hasOwn(READERS, name);
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
