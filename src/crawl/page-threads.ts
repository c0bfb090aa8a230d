import { availableParallelism } from 'node:os';
import { Worker } from 'node:worker_threads';
import PQueue from 'p-queue';
import { toError } from '../errors.ts';
import type { Logger } from '../logger.ts';
import type { PageApart } from './streams/page/page-apart.ts';
import { memoryOf } from './streams/page/page-apart.ts';
import type { ThreadAnswer, ThreadOrder } from './streams/page/read-thread.ts';

/** A smaller body is read sooner than it is handed over. */
const SMALLEST_BYTES = 2 ** 16;
/** A range that has no more large pages than this is read before a thread is ready. */
const FIRST_PAGES = 8;
/** CPU seconds that a thread needs to read a full page, and half as much again. */
const PAGE_SECONDS = 0.05;
/** More than this one connection to the source does not feed. */
const MOST = 16;

/**
 * A page of 4 MB that has to be parsed is some 30 MB of objects. V8 lets a heap grow more slowly, the smaller it may
 * become; a thread that needs more ends, and its page is asked for again and read in the main thread.
 */
const LIMITS = { maxOldGenerationSizeMb: 256, maxYoungGenerationSizeMb: 24 };

type Order = Omit<ThreadOrder, 'body'>;

/** A body that was read, or that is to be read here. */
export type ReadApart =
  { readonly page: PageApart; readonly body?: never } | { readonly body: Buffer; readonly page?: never };

/** Threads that read pages, so that a crawl uses more than one core. */
export interface PageThreads {
  /** How many there may be. */
  readonly count: number;
  /** Takes the body away, with all of its memory. Rejects where a thread runs out of memory and ends with it. */
  read(order: Order, body: Buffer): Promise<ReadApart>;
  close(): Promise<void>;
}

/** For want of another core, or of a need: a page is read here. */
const noThreads: PageThreads = {
  count: 0,
  read: (_, body) => Promise.resolve({ body }),
  close: () => Promise.resolve(),
};

/** As many threads as a rate of requests can keep busy, and the machine has cores for beside this thread and Postgres. */
export function threadsFor(rps: number, cores = availableParallelism()): number {
  return Math.min(MOST, Math.max(0, cores - 2), Math.ceil(rps * PAGE_SECONDS));
}

/** From the root of src/, which a bundle's parts are as far away from. */
const PROGRAM = new URL('../crawl/streams/page/read-thread.js', import.meta.url);

interface PageThreadsOptions {
  readonly count: number;
  readonly apiKey: string | undefined;
  readonly logger: Pick<Logger, 'warn'>;
  /** What a thread runs. */
  readonly program?: URL;
}

/** Where in a stream a page begins. */
function placeOf({ dataset, span }: Order): string {
  return `${dataset} ${span.from}`;
}

/** Threads begin when a range turns out to be dense, and read as soon as they are ready. */
export function createPageThreads(options: PageThreadsOptions): PageThreads {
  const { count, logger } = options;
  if (count === 0) return noThreads;
  const closing = new AbortController();
  const pool = createThreadPool(options, closing.signal);
  /** Places whose page has ended a thread: when it comes again, it is read here. */
  const tooLarge = new Set<string>();
  let large = 0;
  return {
    count,
    read: async (order, body) => {
      if (body.byteLength < SMALLEST_BYTES) return { body };
      large += 1;
      if (large === FIRST_PAGES + 1) for (let index = 0; index < count; index += 1) pool.begin();
      if (tooLarge.delete(placeOf(order))) return { body };
      try {
        return await pool.read(order, body);
      } catch (error) {
        if (closing.signal.aborted) throw error;
        logger.warn(
          { dataset: order.dataset, reason: toError(error).message },
          'a thread that read a page ended; the page is asked for again, and read without threads',
        );
        tooLarge.add(placeOf(order));
        throw error;
      }
    },
    close: () => {
      closing.abort();
      return pool.close();
    },
  };
}

/** The threads that there are. */
interface ThreadPool {
  begin(): void;
  read(order: Order, body: Buffer): Promise<ReadApart>;
  close(): Promise<void>;
}

function createThreadPool(
  { apiKey, program = PROGRAM }: PageThreadsOptions,
  closing: AbortSignal,
): ThreadPool {
  const queue = new PQueue({ concurrency: 1 });
  const idle: Thread[] = [];
  const all = new Set<Thread>();
  const ready = new Set<Thread>();
  const recount = () => {
    queue.concurrency = Math.max(1, ready.size);
  };
  const begin = () => {
    const thread = startThread(program, apiKey);
    all.add(thread);
    void thread.ready.then(() => {
      idle.push(thread);
      ready.add(thread);
      recount();
    });
    void thread.ended.then(() => {
      all.delete(thread);
      const at = idle.indexOf(thread);
      if (at >= 0) idle.splice(at, 1);
      // One that was never ready would not be the next time either.
      if (ready.delete(thread) && !closing.aborted) begin();
      recount();
    });
  };
  const readIn = async (order: Order, body: Buffer): Promise<ReadApart> => {
    const thread = idle.pop();
    if (thread === undefined) return { body };
    const answer = await thread.run(order, body);
    if (all.has(thread)) idle.push(thread);
    return answer.page === undefined ? { body: asBuffer(answer.body) } : answer;
  };
  return {
    begin,
    read: (order, body) =>
      ready.size === 0 ? Promise.resolve({ body }) : queue.add(() => readIn(order, body)),
    close: async () => {
      await Promise.all([...all].map((thread) => thread.end()));
    },
  };
}

interface Thread {
  readonly ready: Promise<void>;
  readonly ended: Promise<void>;
  run(order: Order, body: Buffer): Promise<ThreadAnswer>;
  end(): Promise<unknown>;
}

function startThread(program: URL, apiKey: string | undefined): Thread {
  const worker = new Worker(program, { workerData: { apiKey }, resourceLimits: LIMITS });
  const ended = new Promise<void>((resolve) => worker.once('exit', () => resolve()));
  worker.on('error', () => undefined);
  const ready = new Promise<void>((resolve) => worker.once('message', () => resolve()));
  const run: Thread['run'] = (order, body) =>
    new Promise((resolve, reject) => {
      const onMessage = (answer: ThreadAnswer) => {
        worker.off('exit', onExit);
        resolve(answer);
      };
      const onExit = () => {
        worker.off('message', onMessage);
        reject(new Error('a thread that read the page ended, perhaps because it ran out of memory'));
      };
      worker.once('message', onMessage).once('exit', onExit);
      const sent: ThreadOrder = { ...order, body };
      worker.postMessage(sent, memoryOf([body]));
    });
  return { ready, ended, run, end: () => worker.terminate() };
}

function asBuffer(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}
