import * as z from 'zod';
import { UsageError } from '../../../errors.ts';
import { errorResponse, jsonResponse, type HttpResponse } from '../../http/response.ts';
import type { ApiRequest } from '../../http/api.ts';
import { elementTexts } from './element-texts.ts';
import { LISTS, PAGING } from './lists.ts';
import { readRecording, type ReplayedResponse } from './read-recording.ts';
import { RecordedList, type RecordedWindow } from './recorded-list.ts';
import { programName } from '../../../terminal/program-name.ts';

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
        hint: `Record a whole run: \`${programName} backfill … --record DIR\`.`,
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
