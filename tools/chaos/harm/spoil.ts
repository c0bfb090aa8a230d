import type { HttpResponse } from '../../../src/simulator/http/response.ts';
import type { ApiRequest } from '../../../src/simulator/http/api.ts';
import { mix32, salt } from '../../../src/simulator/random.ts';
import { elementTexts } from '../../../src/simulator/recorded/recording/recording.ts';

/** Kinds of faults in a record. */
const WAYS = ['wrong type', 'NUL', 'new member'] as const;

type Way = (typeof WAYS)[number];

/** A number that no double holds, and half of a surrogate pair: both come with unknown members. */
export const BIG = '9007199254740993123';
const NEW_MEMBER = `"chaos_big":${BIG},"chaos_half":"\\ud83d",`;

interface Endpoint {
  readonly member: string;
  /** The identifier of a record. */
  readonly key: RegExp;
  /** Members whose value is replaced by one of another type: none that gives a record its position or identifier. */
  readonly wrong: readonly (readonly [RegExp, string])[];
}

const ENDPOINTS: Readonly<Record<string, Endpoint>> = {
  '/api/v3/blocks': {
    member: 'blocks',
    key: /"root_hash":"([^"]+)"/,
    wrong: [
      [/"tx_count":\d+/, '"tx_count":"many"'],
      [/"rand_seed":"[^"]*"/, '"rand_seed":{"a":1}'],
    ],
  },
  '/api/v3/transactions': {
    member: 'transactions',
    key: /"hash":"([^"]+)"/,
    wrong: [
      [/"total_fees":"\d+"/, '"total_fees":true'],
      [/"orig_status":"\w+"/, '"orig_status":[1,2]'],
      [/"prev_trans_lt":"\d+"/, '"prev_trans_lt":"yesterday"'],
    ],
  },
  '/api/v3/traces': {
    member: 'traces',
    key: /"trace_id":"([^"]+)"/,
    wrong: [[/"start_utime":\d+/, '"start_utime":"noon"']],
  },
  '/api/v3/jetton/transfers': {
    member: 'jetton_transfers',
    key: /"transaction_hash":"([^"]+)"/,
    wrong: [[/"amount":"\d+"/, '"amount":{}']],
  },
  '/api/v3/actions': {
    member: 'actions',
    key: /"action_id":"([^"]+)"/,
    wrong: [[/"type":"\w+"/, '"type":7']],
  },
};

/** Share of the records of each way. */
const SHARES: Readonly<Record<Way, number>> = { 'wrong type': 0.006, NUL: 0.01, 'new member': 0.01 };

export interface Spoiler {
  /** If false, responses pass unchanged. */
  active: boolean;
  /** Records that were spoiled, each time that they were served. */
  readonly counts: Map<string, number>;
  readonly spoil: (request: ApiRequest, response: HttpResponse) => HttpResponse;
}

/**
 * Spoils some records of responses. The seed and the record decide which ones, so a record is wrong whenever
 * it is served.
 */
export function createSpoiler(seed: number): Spoiler {
  const counts = new Map<string, number>();
  const chosen = (way: Way, key: string) =>
    mix32(salt(`${way} ${key}`) ^ Math.imul(seed, 0x9e3779b9)) < SHARES[way] * 2 ** 32;
  const spoiler: Spoiler = {
    active: true,
    counts,
    spoil: ({ path }, response) => {
      const endpoint = ENDPOINTS[path];
      if (!spoiler.active || endpoint === undefined || response.status !== 200) return response;
      const spoilOne = (text: string) => {
        const key = endpoint.key.exec(text)?.[1] ?? '';
        const ways = WAYS.filter((way) => chosen(way, key));
        for (const way of ways) counts.set(way, (counts.get(way) ?? 0) + 1);
        return ways.length === 0 ? text : spoilRecord(endpoint, ways, key, text);
      };
      return { ...response, body: replaceElements(response.body.toString(), endpoint.member, spoilOne) };
    },
  };
  return spoiler;
}

/** The body with each element of an array replaced; everything around them stays unchanged, to the last space. */
function replaceElements(body: string, member: string, replace: (text: string) => string): string {
  const parts: string[] = [];
  let done = 0;
  for (const text of elementTexts(body, member) ?? []) {
    const at = body.indexOf(text, done);
    parts.push(body.slice(done, at), replace(text));
    done = at + text.length;
  }
  return parts.join('') + body.slice(done);
}

function spoilRecord(endpoint: Endpoint, ways: readonly Way[], key: string, text: string): string {
  let spoiled = text;
  if (ways.includes('NUL')) spoiled = spoiled.replace(`:"${key}"`, `:"\\u0000${key}"`);
  if (ways.includes('new member')) spoiled = `{${NEW_MEMBER}${spoiled.slice(1)}`;
  if (!ways.includes('wrong type')) return spoiled;
  const [pattern, instead] = endpoint.wrong[salt(key) % endpoint.wrong.length] ?? [/^$/, ''];
  return spoiled.replace(pattern, instead);
}
