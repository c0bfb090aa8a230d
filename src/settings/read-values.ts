import { lstatSync, readFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { isAbsolute, join } from 'node:path';
import { isUtf8 } from 'node:buffer';
import { BlockList, isIP } from 'node:net';
import { codeOf, messageOf, UsageError } from '../errors.ts';
import { nearestName } from '../nearest.ts';
import { isEncoded, withoutLogin } from './redact.ts';

/** Names that this program, its Postgres driver or its S3 client obey. Only their values are checked. */
const OBEYED =
  /^(?:(?:ETL|TONCENTER|PG|AWS)_?\w+|DATABASE_URL|LOG_(?:LEVEL|FORMAT)|(?:HTTPS?|ALL|NO)_PROXY)$/i;

/** `NAME=value`: either the value is quoted and may span lines, or it ends with the line. */
const ENTRY = /[ \t]*(?:export[ \t]+)?([\w.-]+)[ \t]*=(?:[ \t]*(["'`])([^]*?)\2([^\n]*)|([^\n]*))(?:\n|$)/y;
const LINE = /[^\n]*(?:\n|$)/y;

/** @throws UsageError if `.env` exists but cannot be read as text */
export function readValues(environment: NodeJS.ProcessEnv, directory: string) {
  const path = join(directory, '.env');
  const file = isThere(path) ? parseFile(readText(path)) : NOTHING;
  const given = { ...file.values, ...environment };
  const values: NodeJS.Dict<string> = Object.fromEntries(
    Object.entries(given).filter(([, value]) => value !== undefined && value !== ''),
  );
  const faults = Object.entries(values).flatMap(([name, value = '']) =>
    OBEYED.test(name) ? faultsOfValue(name, value, name in file.values && !(name in environment)) : [],
  );
  return {
    /** The environment's values win. An empty value counts as not set. */
    values,
    /** Probable mistakes, a sentence each. No sentence repeats a value. */
    faults: [...file.faults.map((fault) => `${path}: ${fault}`), ...faults],
    /** The names that the file sets. */
    fromFile: Object.keys(file.values),
  };
}

/** True for a broken link, too: its settings were meant to count. */
function isThere(path: string): boolean {
  try {
    lstatSync(path);
    return true;
  } catch (error) {
    return !/^ENO(?:ENT|TDIR)$/.test(codeOf(error) ?? '');
  }
}

/** Reads UTF-8 with or without a byte order mark, and with any kind of line end. */
function readText(path: string): string {
  let bytes: Buffer;
  try {
    bytes = readFileSync(path);
  } catch (error) {
    throw new UsageError(`the settings in ${path} cannot be read: ${messageOf(error)}`, {
      hint: 'Make it a file that this user may read, or start the program in another directory.',
    });
  }
  if (!isUtf8(bytes) || bytes.includes(0))
    throw new UsageError(`the settings in ${path} are not UTF-8 text`, {
      hint: 'Save the file as UTF-8. PowerShell writes UTF-16 with ">": use "Set-Content -Encoding utf8".',
    });
  return bytes
    .toString('utf8')
    .replace(/^\uFEFF/, '')
    .replaceAll(/\r\n?/g, '\n');
}

interface ParsedFile {
  readonly values: Readonly<Record<string, string>>;
  readonly faults: readonly string[];
}

const NOTHING: ParsedFile = { values: {}, faults: [] };

/**
 * Reads `NAME=value` lines as dotenv and docker compose do. Programs disagree about `#` within a value, quotes within
 * a value, and a repeated name, so these are reported as faults.
 */
function parseFile(text: string): ParsedFile {
  const values: Record<string, string> = {};
  const faults: string[] = [];
  for (let at = 0; at < text.length;) {
    const line = text.slice(0, at).split('\n').length;
    const entry = matchAt(ENTRY, text, at);
    const found = entry ?? matchAt(LINE, text, at);
    at += Math.max(found?.[0].length ?? 0, 1);
    if (entry === undefined)
      faults.push(...faultOfLine(found?.[0] ?? '').map((fault) => `line ${line} ${fault}`));
    else faults.push(...keepEntry(values, entry).map((fault) => `line ${line}: ${fault}`));
  }
  return { values, faults };
}

function matchAt(pattern: RegExp, text: string, at: number): RegExpExecArray | undefined {
  pattern.lastIndex = at;
  return pattern.exec(text) ?? undefined;
}

/**
 * A line of another form is reported only if it contains the name of a setting of this program, even with spaces
 * (`ETL LAKE=`). It is also reported if its name contains look-alike letters of another alphabet.
 */
function faultOfLine(line: string): string[] {
  const [name = ''] = line.split('=', 1);
  const words = [...(line.match(/\w+/g) ?? []), name.trim().replaceAll(/\s+/g, '_')];
  const isOurs = words.some((word) => OBEYED.test(word));
  if (/^\s*(?:#|$)/.test(line)) return [];
  if (/[A-Z]/i.test(name) && /[^\p{ASCII}\s]/u.test(name) && name !== line)
    return ['has a name with a character that is not ASCII, so it has no effect: type the name again'];
  return isOurs ? ['is not NAME=value, so it has no effect'] : [];
}

/** Stores the value of an entry, and returns what is ambiguous about it. */
function keepEntry(values: Record<string, string>, entry: RegExpExecArray): string[] {
  const [, name = '', quote, quoted = '', rest = '', plain = ''] = entry;
  const unquoted = plain.replace(/[ \t]#.*$/, '').trim();
  const value = quote === undefined ? unquoted : quote === '"' ? quoted.replaceAll('\\n', '\n') : quoted;
  const before = values[name];
  values[name] = value;
  const checks: readonly (readonly [boolean, string])[] = [
    [
      before !== undefined && before !== value,
      `${name} is set a second time, to another value: remove one of the lines`,
    ],
    [!/^\s*(?:#.*)?$/.test(rest), `text follows the closing quote of ${name}`],
    [/^["'`]/.test(unquoted), `the value of ${name} begins with a quote that does not end`],
    [
      unquoted.includes('#'),
      `${name} has a # that some programs read as a comment: put the value in single quotes`,
    ],
    [
      quote !== "'" && /\$[\w{(]/.test(value),
      `${name} has a $, which some programs replace with a variable, but this one does not: put the value in single quotes`,
    ],
  ];
  const swallowed = [...value.matchAll(SWALLOWED)].flatMap(([, inner = '']) =>
    OBEYED.test(inner)
      ? [`the value of ${name} contains the line ${inner}=, so that has no effect: end the quote before it`]
      : [],
  );
  const own = OBEYED.test(name) ? checks.filter(([isFault]) => isFault).map(([, fault]) => fault) : [];
  return [...own, ...swallowed];
}

/** An entry within a value: a quote of an earlier line does not end, or the lines end with a separator of Unicode. */
const SWALLOWED = /[\n\v\f\u0085\u2028\u2029][ \t]*(?:export[ \t]+)?([A-Z][A-Z\d_]+)[ \t]*=/g;

/** Settings whose values may span lines. */
const LISTS: ReadonlySet<string> = new Set(['ETL_DATASETS', 'ETL_RETENTION', 'ETL_SCHEDULE']);

/** Settings whose values are paths. */
const PATHS =
  /^(?:ETL_(?:LAKE|DATA_DIR)|PG(?:PASSFILE|SERVICEFILE|SYSCONFDIR|SSL(?:ROOTCERT|CERT|KEY|CRL)))$/;

/** Probable mistakes in a value, in the environment or `.env`. */
function faultsOfValue(name: string, value: string, isFromFile: boolean): string[] {
  const isQuoted = /^(["'`\u2018\u201C]).*["'`\u2019\u201D]$/s.test(value);
  const where = isFromFile ? '' : ' "docker run --env-file" keeps quotes as a part of the value.';
  return [
    ...(isQuoted && name !== 'PGPASSWORD'
      ? [`the value of ${name} begins and ends with a quote: remove the quotes.${where}`]
      : []),
    ...(/[\p{Cc}\p{Cf}]/u.test(LISTS.has(name) ? value.replaceAll(/[\t\n]/g, ' ') : value)
      ? [`the value of ${name} has a control character, such as a line end, or an invisible one: remove it`]
      : []),
    ...(PATHS.test(name) && /^~|^\$\w|^%\w+%/.test(value)
      ? [`${name} begins with something that only a shell expands: write the full path`]
      : []),
  ];
}

/** The user's home directory; undefined if neither `HOME` nor the system's list of users names one. */
export function homeDirectory(): string | undefined {
  try {
    const home = homedir();
    return isAbsolute(home) ? home : undefined;
  } catch {
    return undefined;
  }
}

/** @throws UsageError if the working directory no longer exists */
export function workingDirectory(): string {
  try {
    return process.cwd();
  } catch (error) {
    throw new UsageError(`the working directory no longer exists: ${messageOf(error)}`, {
      hint: 'Start the program in a directory that exists.',
    });
  }
}

type Values = ReturnType<typeof readValues>;

/**
 * Names that look like a setting, each with the setting that is probably meant, if any. These are unknown names with
 * the prefix of this program's settings, and names in `.env` that are similar to a known one. In the environment
 * too, if the known one says where the database is: the embedded server would be used instead.
 */
export function findUnknown({ values, fromFile }: Values, known: readonly string[]) {
  return Object.keys(values)
    .filter((name) => !known.includes(name) && !OBEYED_ELSEWHERE.test(name))
    .sort()
    .map((name) => ({
      name,
      nearest: NAMES_A_URL.test(name) ? 'DATABASE_URL' : nearestName(name.toUpperCase(), known),
    }))
    .filter(({ name, nearest }) => {
      const isOfDatabase =
        nearest === 'DATABASE_URL' ? !('DATABASE_URL' in values) : /^pg[a-z]+$/i.test(name);
      const isMeant = nearest !== undefined && (isOfDatabase || fromFile.includes(name));
      return isMeant || /^(etl|toncenter)_/i.test(name);
    });
}

/** What other programs call the URL of their database. */
const NAMES_A_URL = /^(?:POSTGRES(?:QL)?|PG|DB)_?(?:URL|URI|DSN|CONNECTION(?:_STRING)?)$/i;

/** Names that the S3 client or a proxy obey: never reported, even if they are similar to a setting. */
const OBEYED_ELSEWHERE = /^(?:AWS_\w+|(?:HTTPS?|ALL|NO)_PROXY)$/i;

/** Returns the proxy for a URL; undefined if requests go there directly. */
export type ProxyFor = (url: string) => URL | undefined;

const DEFAULT_PORTS: ReadonlyMap<string, number> = new Map([
  ['http:', 80],
  ['https:', 443],
]);

/**
 * Reads `HTTP_PROXY`, `HTTPS_PROXY`, `ALL_PROXY` and `NO_PROXY` as curl does. Lower-case names win. An entry of
 * `NO_PROXY` is a domain with its subdomains, an IP address or a CIDR block, with or without a port; `*` matches
 * every host.
 * @throws UsageError if a proxy is not a URL of a supported kind
 */
export function readProxies(values: NodeJS.Dict<string>): ProxyFor {
  const get = (name: string) => values[name.toLowerCase()] || values[name.toUpperCase()];
  const all = proxyOf('ALL_PROXY', get('all_proxy'));
  const proxies = new Map([
    ['http:', proxyOf('HTTP_PROXY', get('http_proxy')) ?? all],
    ['https:', proxyOf('HTTPS_PROXY', get('https_proxy')) ?? all],
  ]);
  const direct = (get('no_proxy') ?? '').split(/[,\s]+/).filter((entry) => entry !== '');
  return (url) => {
    const { protocol, hostname, port } = new URL(url);
    const host = hostname.replace(/^\[(.*)\]$/, '$1').toLowerCase();
    const target = { host, port: port === '' ? DEFAULT_PORTS.get(protocol) : Number(port) };
    return direct.some((entry) => covers(entry, target)) ? undefined : proxies.get(protocol);
  };
}

function proxyOf(name: string, value: string | undefined): URL | undefined {
  if (value === undefined || value === '') return undefined;
  const text = value.includes('://') ? value : `http://${value}`;
  const url = URL.canParse(text) ? new URL(text.replace(/^socks5h:/i, 'socks5:')) : undefined;
  const isKnown = url !== undefined && /^(?:https?|socks5):$/.test(url.protocol);
  if (isKnown && isEncoded(url.username) && isEncoded(url.password)) {
    // As in curl, the rest of the URL has no meaning.
    [url.pathname, url.search, url.hash] = ['', '', ''];
    return url;
  }
  throw new UsageError(
    isKnown
      ? `${name} has a login with a % that begins no character: write %25`
      : `${name} "${withoutLogin(value)}" is not the URL of a proxy, such as http://host:3128`,
  );
}

interface RequestTarget {
  /** In lower case. An IPv6 address has no brackets. */
  readonly host: string;
  readonly port: number | undefined;
}

function covers(entry: string, { host, port }: RequestTarget): boolean {
  if (entry === '*') return true;
  const [, name = '', only] = /^\[?(.*?)\]?(?::(\d+))?$/.exec(isIP(entry) === 6 ? `[${entry}]` : entry) ?? [];
  if (only !== undefined && Number(only) !== port) return false;
  const domain = name.toLowerCase().replace(/^\*?\./, '');
  return host === domain || host.endsWith(`.${domain}`) || isInBlock(host, domain);
}

function isInBlock(host: string, block: string): boolean {
  const [address = '', bits, ...rest] = block.split('/');
  const family = isIP(address) === 4 ? 'ipv4' : 'ipv6';
  const isBlock =
    bits !== undefined && rest.length === 0 && isIP(address) !== 0 && isIP(host) === isIP(address);
  if (!isBlock || !/^\d+$/.test(bits) || Number(bits) > (family === 'ipv4' ? 32 : 128)) return false;
  const list = new BlockList();
  list.addSubnet(address, Number(bits), family);
  return list.check(host, family);
}
