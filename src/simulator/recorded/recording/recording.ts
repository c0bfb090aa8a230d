import * as z from 'zod';
import { UsageError } from '../../../errors.ts';
import { errorResponse, jsonResponse, type HttpResponse } from '../../http/response.ts';
import type { ApiRequest } from '../../http/api.ts';
import { readRecording, type ReplayedResponse } from './read-recording.ts';
import { commandLine } from '../../../terminal/program-name.ts';
import type { Bounds } from '../../bounds.ts';

/** How the records of an endpoint's list are distinguished and put in order. */
interface ListFacts {
  /** The member of the response that holds the records. */
  readonly member: string;
  /** The record's member by which the endpoint's windows of time go. */
  readonly time: string;
  /** The one that windows of logical time go by; undefined if there are none. */
  readonly lt?: string;
  /** Members that together name a record. */
  readonly key: readonly string[];
  /** True if a page says by itself how far it is joined, so that a window may end beyond what was recorded. */
  readonly joined?: true;
}

/** Endpoints of which any window can be answered from recorded ones; all others answer the very request again. */
const LISTS: Readonly<Record<string, ListFacts>> = {
  '/api/v3/blocks': {
    member: 'blocks',
    time: 'gen_utime',
    lt: 'start_lt',
    key: ['workchain', 'shard', 'seqno'],
    joined: true,
  },
  '/api/v3/transactions': { member: 'transactions', time: 'now', lt: 'lt', key: ['hash'] },
  '/api/v3/traces': { member: 'traces', time: 'end_utime', lt: 'end_lt', key: ['trace_id'] },
  '/api/v3/actions': {
    member: 'actions',
    time: 'trace_end_utime',
    lt: 'trace_end_lt',
    key: ['trace_id', 'action_id'],
  },
  '/api/v3/jetton/transfers': {
    member: 'jetton_transfers',
    time: 'transaction_now',
    lt: 'transaction_lt',
    key: ['transaction_hash'],
  },
  '/api/v3/jetton/burns': {
    member: 'jetton_burns',
    time: 'transaction_now',
    lt: 'transaction_lt',
    key: ['transaction_hash'],
  },
  '/api/v3/nft/transfers': {
    member: 'nft_transfers',
    time: 'transaction_now',
    lt: 'transaction_lt',
    key: ['transaction_hash'],
  },
  '/api/v3/validators/events': { member: 'events', time: 'utime', lt: 'tx_lt', key: ['tx_hash'] },
  '/api/v3/validators/complaints': { member: 'complaints', time: 'created_at', key: ['complaint_hash'] },
  '/api/v3/staking/nominatorPools/validatorEvents': {
    member: 'events',
    time: 'utime',
    lt: 'tx_lt',
    key: ['tx_hash'],
  },
  '/api/v3/staking/nominatorPools/nominatorEvents': {
    member: 'events',
    time: 'utime',
    lt: 'tx_lt',
    key: ['tx_hash', 'nominator_address', 'type'],
  },
};

/** Parameters that choose a part of a list. All others choose another list. */
const PAGING = ['start_utime', 'end_utime', 'start_lt', 'end_lt', 'limit', 'offset', 'sort'];

const INFO = '/api/v3/masterchainInfo';
const BLOCKS = '/api/v3/blocks';

/** What an INFO response says of the newest block. */
const Head = z.object({ last: z.object({ gen_utime: z.coerce.number() }) });

/**
 * Serves what `--record` wrote. A recorded request gets its last recorded response. Lists that are read by time also
 * answer any other window, if its seconds were recorded. Everything else is a 404.
 */
export class Recording {
  private readonly exact = new Map<string, ReplayedResponse>();
  private readonly lists = new Map<string, RecordedList>();
  private responses = 0;
  /** Unix seconds of the newest record. */
  readonly latest: number;

  /** @throws UsageError if nothing can be served. */
  constructor(directory: string) {
    const heads: ReplayedResponse[] = [];
    for (const response of readRecording(directory)) {
      this.take(response);
      if (response.path === INFO) heads.push(response);
    }
    const head = this.newestRead(heads);
    if (head !== undefined) this.exact.set(INFO, head);
    this.latest = Math.max(0, ...[...this.lists.values()].map((list) => list.latest));
    if (!this.exact.has(INFO)) {
      throw new UsageError(`${directory} holds no recorded response of ${INFO}`, {
        hint: `Record a whole run: \`${commandLine('backfill … --record DIR')}\`.`,
      });
    }
  }

  /** What is there, a line each, for people. */
  get contents(): string[] {
    const lists = [...this.lists].map(([key, list]) => `${key.split('?')[0] ?? ''} ${list.size} records`);
    return [`${this.responses} responses`, ...lists];
  }

  answer({ path, search }: Pick<ApiRequest, 'path' | 'search'>): HttpResponse {
    const list = this.lists.get(listKey(path, search));
    const asked = windowOf(search);
    const member = LISTS[path]?.member;
    const missing = list?.missing(asked);
    if (list !== undefined && member !== undefined && missing === undefined)
      return this.listResponse(member, list, asked);
    const recorded = this.exact.get(exactKey(path, search));
    if (recorded === undefined) {
      const what = missing === undefined ? `?${search.toString()}` : ` from second ${missing} on`;
      return errorResponse(404, `not in the recording: ${path}${what}`);
    }
    return jsonResponse(200, recorded.text, versionOf(recorded));
  }

  /** The newest head up to which blocks were read. A later one would name blocks that are not in the recording. */
  private newestRead(heads: readonly ReplayedResponse[]): ReplayedResponse | undefined {
    const blocks = [...this.lists]
      .filter(([key]) => key.split('?')[0] === BLOCKS)
      .map(([, list]) => list.latest);
    const newest = Math.max(0, ...blocks);
    const time = ({ text }: ReplayedResponse) =>
      Head.safeParse(JSON.parse(text)).data?.last.gen_utime ?? Infinity;
    return heads.filter((head) => time(head) <= newest).at(-1) ?? heads[0];
  }

  private listResponse(member: string, list: RecordedList, asked: RecordedWindow): HttpResponse {
    return jsonResponse(200, `{"${member}":[${list.texts(asked).join(',')}]}`);
  }

  private take(response: ReplayedResponse): void {
    this.responses += 1;
    const { path, search, text } = response;
    this.exact.set(exactKey(path, search), response);
    const facts = LISTS[path];
    const texts = facts === undefined ? undefined : elementTexts(text, facts.member);
    if (facts === undefined || texts === undefined) return;
    const key = listKey(path, search);
    const list = this.lists.get(key) ?? new RecordedList(facts);
    this.lists.set(key, list);
    list.add(
      windowOf(search),
      texts.map((element): { value: unknown; text: string } => ({
        value: JSON.parse(element),
        text: element,
      })),
    );
  }
}

function versionOf({ apiVersion }: ReplayedResponse): Record<string, string> {
  return apiVersion === undefined ? {} : { 'x-api-version': apiVersion };
}

function exactKey(path: string, search: URLSearchParams): string {
  return keyOf(path, [...search]);
}

function listKey(path: string, search: URLSearchParams): string {
  return keyOf(
    path,
    [...search].filter(([name]) => !PAGING.includes(name)),
  );
}

function keyOf(path: string, pairs: readonly (readonly [string, string])[]): string {
  if (pairs.length === 0) return path;
  return `${path}?${pairs
    .map((pair) => pair.join('='))
    .toSorted()
    .join('&')}`;
}

function windowOf(search: URLSearchParams): RecordedWindow {
  const number = (name: string, fallback: number) => Number(search.get(name) ?? fallback);
  const big = (name: string, fallback: bigint) => BigInt(search.get(name) ?? fallback);
  return {
    time: { first: number('start_utime', 0), last: number('end_utime', Infinity) },
    lt: { first: big('start_lt', 0n), last: big('end_lt', 2n ** 64n) },
    limit: number('limit', 10),
    offset: number('offset', 0),
    // Newest first is the servers' default.
    descending: search.get('sort') !== 'asc',
  };
}

/**
 * The elements of the array that is a member of a JSON object, as text, without reading a number: what was recorded is
 * served to the last digit. Undefined if there is no such array at the top.
 */
export function elementTexts(json: string, member: string): string[] | undefined {
  let depth = 0;
  for (let at = 0; at < json.length; at += 1) {
    if (json[at] !== '"') {
      depth += nesting(json[at]);
      continue;
    }
    const end = endOfString(json, at);
    const isMember = depth === 1 && json.slice(at + 1, end) === member;
    const open = isMember ? valueAfter(json, end) : undefined;
    if (open !== undefined) return json[open] === '[' ? elementsFrom(json, open) : undefined;
    at = end;
  }
  return undefined;
}

/** How much deeper a character leads. */
function nesting(char: string | undefined): number {
  if (char === '{' || char === '[') return 1;
  return char === '}' || char === ']' ? -1 : 0;
}

/** Where the value of a name begins that ends at `end`; undefined if the string is no name. */
function valueAfter(json: string, end: number): number | undefined {
  const colon = skipSpace(json, end + 1);
  return json[colon] === ':' ? skipSpace(json, colon + 1) : undefined;
}

function elementsFrom(json: string, open: number): string[] {
  const elements: string[] = [];
  let depth = 0;
  let begin = open + 1;
  const take = (end: number) => {
    const text = json.slice(begin, end).trim();
    if (text !== '') elements.push(text);
    begin = end + 1;
  };
  for (let at = open; at < json.length; at += 1) {
    const char = json[at];
    if (char === '"') at = endOfString(json, at);
    else if (char === ',' && depth === 1) take(at);
    depth += nesting(char);
    if (depth === 0) {
      take(at);
      return elements;
    }
  }
  return elements;
}

/** The place of the quote that ends the string beginning at `at`. */
function endOfString(json: string, at: number): number {
  let end = at + 1;
  while (end < json.length && json[end] !== '"') end += json[end] === '\\' ? 2 : 1;
  return end;
}

function skipSpace(json: string, at: number): number {
  let end = at;
  while (/\s/.test(json[end] ?? 'x')) end += 1;
  return end;
}

/** A record as text, and what windows ask of it. */
interface RecordedEntry {
  readonly text: string;
  readonly time: number;
  readonly lt: bigint;
  readonly key: string;
}

/** What is asked of a list; bounds are inclusive. */
interface RecordedWindow {
  readonly time: Bounds;
  readonly lt: { readonly first: bigint; readonly last: bigint };
  readonly limit: number;
  readonly offset: number;
  readonly descending: boolean;
}

/** The records of one list from all recorded responses, and the seconds for which they are complete. */
class RecordedList {
  private readonly facts: ListFacts;
  private readonly entries = new Map<string, RecordedEntry>();
  private readonly answered: Bounds[] = [];
  private sorted: RecordedEntry[] | undefined;

  constructor(facts: ListFacts) {
    this.facts = facts;
  }

  get size(): number {
    return this.entries.size;
  }

  /** The newest second of any record. */
  get latest(): number {
    return Math.max(0, ...[...this.entries.values()].map(({ time }) => time));
  }

  /** Adds a response. If a record came twice, the later copy counts. */
  add(asked: RecordedWindow, records: readonly { readonly value: unknown; readonly text: string }[]): void {
    const times: number[] = [];
    for (const { value, text } of records) {
      const entry = this.entryOf(value, text);
      if (entry === undefined) continue;
      this.entries.set(entry.key, entry);
      times.push(entry.time);
    }
    this.sorted = undefined;
    const full = records.length >= asked.limit;
    // The last second of a full page may be incomplete; in an open window, more may have become visible later.
    const last = full || !Number.isFinite(asked.time.last) ? Math.max(...times, -1) - 1 : asked.time.last;
    if (!asked.descending && last >= asked.time.first) this.answered.push({ first: asked.time.first, last });
    if (asked.descending && !full) this.answered.push(asked.time);
  }

  /** The part of a window that was not recorded begins here; undefined if all of it was. */
  missing({ time, lt }: RecordedWindow): number | undefined {
    // A part of a second that filled a page is asked for by logical time; other logical times are those of the seconds.
    const isOneSecond = lt.first > 0n && time.first === time.last;
    if (isOneSecond && [...this.entries.values()].some((entry) => entry.time === time.first))
      return undefined;
    let at = time.first;
    for (const { first, last } of this.answered.toSorted((a, b) => a.first - b.first))
      if (first <= at && last >= at) at = last + 1;
    if (this.facts.joined === true) return at === time.first ? at : undefined;
    return at > time.last ? undefined : at;
  }

  texts({ time, lt, limit, offset, descending }: RecordedWindow): string[] {
    this.sorted ??= [...this.entries.values()].sort(
      (a, b) => a.time - b.time || (a.lt < b.lt ? -1 : a.lt > b.lt ? 1 : a.key < b.key ? -1 : 1),
    );
    const found = this.sorted.filter((entry) => within(entry.time, time) && within(entry.lt, lt));
    return (descending ? found.reverse() : found).slice(offset, offset + limit).map(({ text }) => text);
  }

  private entryOf(value: unknown, text: string): RecordedEntry | undefined {
    if (typeof value !== 'object' || value === null) return undefined;
    const members = new Map(Object.entries(value));
    const time = Number(members.get(this.facts.time));
    if (!Number.isInteger(time)) return undefined;
    const lt = String(this.facts.lt === undefined ? 0 : members.get(this.facts.lt));
    return {
      text,
      time,
      lt: /^\d+$/.test(lt) ? BigInt(lt) : 0n,
      key: this.facts.key.map((name) => String(members.get(name))).join('/'),
    };
  }
}

function within<T extends number | bigint>(
  value: T,
  { first, last }: { readonly first: T; readonly last: T },
): boolean {
  return value >= first && value <= last;
}
