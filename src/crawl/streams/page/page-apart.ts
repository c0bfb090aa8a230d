import { stringify } from 'lossless-json';
import * as z from 'zod';
import { parseJson } from '../../../api/response/parse-json.ts';
import type { Oddities } from './content.ts';
import { readPage, type HowToRead, type ReadPage } from './read-page.ts';

/** A page as it is sent between threads: nothing but what can be copied or handed over. */
export interface PageApart extends Omit<ReadPage, 'oddities'> {
  /** Its oddities, as JSON without loss; empty for none, as nearly always. */
  readonly odd: string;
}

/** Reads a page that another thread writes. Throws what is wrong with the page. */
export async function readApart(body: Buffer, how: Omit<HowToRead, 'turn'>): Promise<PageApart> {
  const { oddities, ...page } = await readPage(body, { ...how, turn: () => Promise.resolve() });
  const isOdd = oddities.rejected.length > 0 || oddities.extras.length > 0;
  return { ...page, odd: isOdd ? (stringify(oddities) ?? '') : '' };
}

/** What is handed over with bytes: all of their memory, which is theirs alone. */
export function memoryOf(bytes: readonly Uint8Array[]): ArrayBuffer[] {
  return bytes.map(({ buffer }) => buffer).filter((buffer) => buffer instanceof ArrayBuffer);
}

/** A page that another thread has read. */
export function pageOf({ odd, ...page }: PageApart): ReadPage {
  return { ...page, oddities: odd === '' ? NONE : Odd.parse(parseJson(odd)) };
}

const NONE: Oddities = { rejected: [], extras: [] };

const Odd = z.object({
  rejected: z.array(
    z.object({
      position: z.object({ utime: z.number(), lt: z.string(), id: z.string() }),
      span: z.object({ from: z.number(), to: z.number() }),
      path: z.string(),
      reason: z.string(),
      raw: z.unknown(),
    }),
  ),
  extras: z.array(z.record(z.string(), z.unknown())),
});
