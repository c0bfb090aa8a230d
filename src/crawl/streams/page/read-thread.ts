/*
 * A thread that reads pages, one after another, for `page-threads.ts`.
 */
import { parentPort, workerData } from 'node:worker_threads';
import * as z from 'zod';
import { loadJobs } from '../../../dataset/load-jobs.ts';
import { guardKey } from '../../../api/response/key-guard.ts';
import type { Range } from '../../../range.ts';
import { memoryOf, readApart, type PageApart } from './page-apart.ts';

const ThreadData = z.object({ apiKey: z.string().optional() });

/** A page to be read. */
export interface ThreadOrder {
  readonly dataset: string;
  readonly span: Range;
  readonly body: Uint8Array;
}

/** A page; or the body again, which whoever asked reads, and finds out what is wrong with it. */
export type ThreadAnswer =
  { readonly page: PageApart; readonly body?: never } | { readonly body: Uint8Array; readonly page?: never };

const jobs = new Map((await loadJobs()).map(({ name, job }) => [name, job]));
const key = guardKey(ThreadData.parse(workerData).apiKey);

const answer = async (order: ThreadOrder) => {
  const { body } = order;
  const page = await read(order);
  const sent: ThreadAnswer = page === undefined ? { body } : { page };
  const lines = page?.tables.map(({ bytes }) => bytes);
  parentPort?.postMessage(sent, memoryOf(lines ?? [body]));
};

async function read({ dataset, body, span }: ThreadOrder): Promise<PageApart | undefined> {
  const job = jobs.get(dataset);
  if (job === undefined) return undefined;
  try {
    return await readApart(Buffer.from(body.buffer, body.byteOffset, body.byteLength), {
      job,
      span,
      key,
    });
  } catch {
    return undefined;
  }
}

parentPort?.on('message', (order: ThreadOrder) => void answer(order));
parentPort?.postMessage('ready');
