import type { Random } from '../../../src/simulator/random.ts';

/** A value of a record as it came, and its context. */
export interface Found {
  /** Names of members from the record down to it; positions in lists are numbers. */
  readonly path: readonly (string | number)[];
  readonly value: unknown;
  /** Values of the same member in other records. */
  readonly others: readonly unknown[];
}

/** The replacement of a value: JSON text, or undefined if the member is left out. */
type Instead = string | undefined;

/** A way in which one value of a response is wrong. */
export interface Form {
  readonly name: string;
  /** Whether it applies to a value. */
  readonly fits: (found: Found) => boolean;
  readonly alter: (found: Found, random: Random) => Instead;
}

const HASH = /^[A-Za-z0-9+/]{43}=$/;
const ADDRESS = /^-?\d+:[0-9A-F]{64}$/;
const DIGITS = /^-?\d+$/;

const isText = ({ value }: Found) => typeof value === 'string';
const isHash = ({ value }: Found) => typeof value === 'string' && HASH.test(value);
const isAddress = ({ value }: Found) => typeof value === 'string' && ADDRESS.test(value);
const isDigits = ({ value }: Found) => typeof value === 'string' && DIGITS.test(value);
const isNumber = ({ value }: Found) => typeof value === 'number';
const isFlag = ({ value }: Found) => typeof value === 'boolean';
const isList = ({ value }: Found) => Array.isArray(value) && value.length > 0;
const isObject = ({ value }: Found) =>
  typeof value === 'object' && value !== null && !Array.isArray(value) && Object.keys(value).length > 0;
const isAnything = ({ value }: Found) => value !== null;
const nameOf = ({ path }: Found) => path.findLast((name) => typeof name === 'string') ?? '';
const isTime = (found: Found) =>
  (isNumber(found) || isDigits(found)) && /utime|^now$|^created_at$/.test(nameOf(found));
const isLt = (found: Found) => isDigits(found) && /(^|_)lt$/.test(nameOf(found));
const isStatus = (found: Found) => isText(found) && /status|state$|^type$|reason/.test(nameOf(found));
const hasOthers = ({ value, others }: Found) => others.some((other) => differ(other, value));

const json = (value: unknown) => JSON.stringify(value);
const differ = (a: unknown, b: unknown) => json(a) !== json(b);

function other({ value, others }: Found, random: Random): Instead {
  const choice = others.filter((one) => differ(one, value));
  return json(choice[random.below(choice.length)]);
}

function form(name: string, fits: Form['fits'], alter: Form['alter']): Form {
  return { name, fits, alter };
}

/** Adds to a number, whether it is in quotes or not. */
function added(by: bigint): Form['alter'] {
  return ({ value }) =>
    typeof value === 'number' ? String(value + Number(by)) : json(String(BigInt(String(value)) + by));
}

const text =
  (change: (value: string) => string): Form['alter'] =>
  (found) =>
    json(change(String(found.value)));
const constant =
  (instead: string): Form['alter'] =>
  () =>
    instead;

/** Ways of a value: its type, its form, its position. */
export const FORMS: readonly Form[] = [
  form('null', isAnything, constant('null')),
  form('missing', isAnything, () => undefined),
  form('of another record', hasOthers, other),
  form(
    'text for a number',
    isNumber,
    text((value) => value),
  ),
  form('word for a number', isNumber, constant('"many"')),
  form('number for a text', isText, constant('7')),
  form('object for a value', (found) => isText(found) || isNumber(found), constant('{"a":1}')),
  form('list for a value', (found) => isText(found) || isNumber(found), constant('[1,2]')),
  form('flag for a value', (found) => isText(found) || isNumber(found), constant('true')),
  form('text for a flag', isFlag, constant('"true"')),
  form('number for a flag', isFlag, constant('1')),
  form('flag negated', isFlag, ({ value }) => json(value !== true)),
  form('text for an object', isObject, constant('"object"')),
  form('empty object', isObject, constant('{}')),
  form('list for an object', isObject, ({ value }) => json([value])),
  form('empty list', isList, constant('[]')),
  form('object for a list', isList, constant('{}')),
  form('text for a list', isList, constant('"list"')),
  form('list without its first', isList, ({ value }) => json((value as unknown[]).slice(1))),
  form('list with its first twice', isList, ({ value }) =>
    json([(value as unknown[])[0], ...(value as unknown[])]),
  ),
  form(
    'list reversed',
    (found) => isList(found) && (found.value as unknown[]).length > 1,
    ({ value }) => json((value as unknown[]).toReversed()),
  ),
  form('number plus one', isNumber, added(1n)),
  form('number minus one', isNumber, added(-1n)),
  form(
    'number negated',
    (found) => isNumber(found) && found.value !== 0,
    ({ value }) => String(-Number(value)),
  ),
  form('number zero', (found) => isNumber(found) && found.value !== 0, constant('0')),
  form('negative zero', isNumber, constant('-0')),
  form('number with a fraction', isNumber, ({ value }) => `${String(value)}.5`),
  form('number beyond 32 bits', isNumber, constant('4294967296')),
  form('number beyond 64 bits', isNumber, constant('18446744073709551616')),
  form('number beyond a double', isNumber, constant('1e400')),
  form('number with an exponent', isNumber, ({ value }) => `${String(value)}e0`),
  form('digits plus one', isDigits, added(1n)),
  form('digits plus a hundred', isDigits, added(100n)),
  form(
    'digits negated',
    isDigits,
    text((value) => `-${value}`),
  ),
  form(
    'digits truncated',
    (found) => isDigits(found) && String(found.value).length > 2,
    text((value) => value.slice(0, -2)),
  ),
  form('digits beyond 64 bits', isDigits, constant('"18446744073709551617"')),
  form('digits without quotes', isDigits, ({ value }) => String(value)),
  form(
    'digits in hexadecimal',
    isDigits,
    text((value) => `0x${BigInt(value.replace('-', '')).toString(16)}`),
  ),
  form(
    'digits with a plus',
    isDigits,
    text((value) => `+${value}`),
  ),
  form(
    'digits with a space',
    isDigits,
    text((value) => ` ${value}`),
  ),
  form('time a second later', isTime, added(1n)),
  form('time a second earlier', isTime, added(-1n)),
  form('time an hour later', isTime, added(3600n)),
  form('time in milliseconds', isTime, ({ value }) =>
    json(typeof value === 'number' ? value * 1000 : `${String(value)}000`),
  ),
  form('time of 1970', isTime, ({ value }) => (typeof value === 'number' ? '1' : '"1"')),
  form('logical time plus one', isLt, added(1n)),
  form('logical time plus a million', isLt, added(1_000_000n)),
  form(
    'hash with another character',
    isHash,
    text((value) => `${value.startsWith('Q') ? 'R' : 'Q'}${value.slice(1)}`),
  ),
  form(
    'hash truncated',
    isHash,
    text((value) => value.slice(0, 20)),
  ),
  form(
    'hash too long',
    isHash,
    text((value) => `AA${value}`),
  ),
  form(
    'hash in hexadecimal',
    isHash,
    text((value) => Buffer.from(value, 'base64').toString('hex')),
  ),
  form(
    'hash in base64url',
    isHash,
    text((value) => value.replace('=', '').replaceAll('+', '-').replaceAll('/', '_')),
  ),
  form(
    'hash in lower case',
    isHash,
    text((value) => value.toLowerCase()),
  ),
  form('hash of one character', isHash, constant('"1"')),
  form(
    'hash with a tab and a newline',
    isHash,
    text((value) => `${value.slice(0, 10)}\t\n${value.slice(12)}`),
  ),
  form(
    'address with another digit',
    isAddress,
    text((value) => value.replace(/:(.)/, (_, digit: string) => `:${digit === '1' ? '2' : '1'}`)),
  ),
  form(
    'address truncated',
    isAddress,
    text((value) => value.slice(0, 30)),
  ),
  form(
    'address of another workchain',
    isAddress,
    text((value) => value.replace(/^-?\d+/, '7')),
  ),
  form(
    'address in lower case',
    isAddress,
    text((value) => value.toLowerCase()),
  ),
  form(
    'address without its workchain',
    isAddress,
    text((value) => value.replace(/^-?\d+:/, '')),
  ),
  form(
    'address with half a surrogate pair',
    isAddress,
    ({ value }) => `"${String(value).slice(0, 20)}\\ud83d"`,
  ),
  form('unknown status', isStatus, constant('"chaotic"')),
  form('empty status', isStatus, constant('""')),
  form('empty text', isText, constant('""')),
  form(
    'text cut',
    (found) => isText(found) && String(found.value).length > 3,
    text((value) => value.slice(0, value.length / 2)),
  ),
  form(
    'text twice',
    isText,
    text((value) => value + value),
  ),
  form('text with NUL', isText, ({ value }) => `${json(String(value)).slice(0, -1)}\\u0000"`),
  form(
    'text with half a surrogate pair',
    isText,
    ({ value }) => `${json(String(value)).slice(0, -1)}\\ud83d"`,
  ),
  form('text that COPY takes for null', isText, constant(String.raw`"\\N"`)),
  form(
    'text with a terminal sequence',
    isText,
    ({ value }) => `"\\u001b]0;x\\u0007${String(value).replaceAll(/["\\]/g, '')}"`,
  ),
];

/** Forms that only certain members of certain endpoints can take. */
export const PLACED: readonly (Form & { readonly endpoint: string })[] = [
  placed('/api/v3/blocks', 'wrong workchain', /^workchain$/, constant('7')),
  placed('/api/v3/blocks', 'wrong shard', /^shard$/, constant('"4000000000000001"')),
  placed('/api/v3/blocks', 'parent link to an earlier block', /^prev_blocks\/\d+\/seqno$/, ({ value }) =>
    String(Math.max(1, Number(value) - 9)),
  ),
  placed('/api/v3/blocks', 'parent link to a later block', /^prev_blocks\/\d+\/seqno$/, added(3n)),
  placed(
    '/api/v3/blocks',
    'parent link to another shard',
    /^prev_blocks\/\d+\/shard$/,
    constant('"C000000000000000"'),
  ),
  placed('/api/v3/blocks', 'more transactions than there are', /^tx_count$/, added(1n)),
  placed('/api/v3/blocks', 'fewer transactions than there are', /^tx_count$/, added(-1n)),
  placed('/api/v3/traces', 'more transactions in a trace', /^trace_info\/transactions$/, added(1n)),
  placed('/api/v3/traces', 'later end of a trace', /^end_utime$/, added(1n)),
  placed('/api/v3/traces', 'earlier end of a trace', /^end_utime$/, added(-2n)),
  placed(
    '/api/v3/traces',
    'a transaction of another block',
    /^transactions\/[^/]+\/mc_block_seqno$/,
    added(-3n),
  ),
  placed('/api/v3/traces', 'a transaction of another second', /^transactions\/[^/]+\/now$/, added(1n)),
  placed('/api/v3/transactions', 'a transaction of another block', /^mc_block_seqno$/, added(-3n)),
];

function placed(endpoint: string, name: string, at: RegExp, alter: Form['alter']) {
  return { endpoint, ...form(name, ({ path }) => at.test(path.join('/')), alter) };
}
