import type { Range } from '../../src/range.ts';

/** The client that the documentation of an endpoint suggests, and that many write. */
export interface NaiveReport {
  readonly ids: readonly string[];
  readonly requests: number;
  readonly refused: number;
}

const LIMIT = 1000;

interface NaiveOrder {
  readonly url: string;
  readonly path: string;
  readonly list: string;
  readonly span: Range;
  readonly rps: number;
  readonly idOf: (record: unknown) => string;
}

/**
 * Pages through a list with `offset += limit` until a page is short, with a fixed pause between requests and
 * a retry after a refusal. The program is compared with this plain client.
 */
export async function readNaively({ url, path, list, span, rps, idOf }: NaiveOrder): Promise<NaiveReport> {
  const ids: string[] = [];
  let requests = 0;
  let refused = 0;
  for (let offset = 0; ; offset += LIMIT) {
    const query = `start_utime=${span.from}&end_utime=${span.to - 1}&limit=${LIMIT}&offset=${offset}&sort=asc`;
    let response = await fetch(`${url}${path}?${query}`);
    for (requests += 1; response.status === 429; requests += 1) {
      refused += 1;
      await pause(1000 / rps);
      response = await fetch(`${url}${path}?${query}`);
    }
    const body = (await response.json()) as Record<string, unknown[]>;
    const records = body[list] ?? [];
    ids.push(...records.map(idOf));
    if (records.length < LIMIT) return { ids, requests, refused };
    await pause(1000 / rps);
  }
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
