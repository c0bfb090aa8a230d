import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { pino } from 'pino';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import transactions from '../../jobs/transactions.ts';
import { createPageThreads, threadsFor, type PageThreads } from '../../src/crawl/page-threads.ts';
import { readApart, type PageApart } from '../../src/crawl/streams/page/page-apart.ts';
import { guardKey } from '../../src/api/response/key-guard.ts';
import { silent } from '../support/crawl.ts';
import { compile } from '../support/program/compile.ts';
import { sampleTransaction } from '../support/samples/sample-records.ts';

/*
 * Threads of the program as it is built. What a page is read to is the same here and there: two-ways.test.ts; here it is
 * handed over.
 */

const SPAN = { from: 0, to: 2 ** 32 };
const KEY = 'k'.repeat(64);
const ORDER = { dataset: 'transactions', span: SPAN };
const HOW = { job: transactions, span: SPAN, key: guardKey(KEY) };

function bodyOf(members: object): Buffer {
  const records = Array.from({ length: 100 }, (_, index) => ({
    ...sampleTransaction(),
    lt: String(index + 1),
    ...members,
  }));
  return Buffer.from(JSON.stringify({ transactions: records }));
}

/** Bytes as text: byte by byte, comparing them takes seconds. */
const shown = ({ tables, ...rest }: PageApart) => ({
  ...rest,
  tables: tables.map(({ bytes, ...table }) => ({ ...table, text: Buffer.from(bytes).toString('latin1') })),
});

describe('threads that read pages', () => {
  let threads: PageThreads;

  /** The first pages are read here, until threads are ready. */
  async function readThere(body: Buffer) {
    for (;;) {
      const { page } = await threads.read(ORDER, Buffer.from(body));
      if (page !== undefined) return page;
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  }

  beforeAll(async () => {
    const program = pathToFileURL(join(await compile(), 'src/crawl/streams/page/read-thread.js'));
    threads = createPageThreads({ count: 2, apiKey: KEY, program, logger: silent });
  });
  afterAll(() => threads.close());

  it('reads pages as this thread does, several at once, and without the key', async () => {
    const body = bodyOf({ unknown_member: `said ${KEY}` });
    const page = await readThere(body);
    expect(shown(page)).toEqual(shown(await readApart(body, HOW)));
    expect(JSON.stringify(page.odd)).toContain('said [key]');
    const all = await Promise.all(Array.from({ length: 8 }, () => readThere(body)));
    expect(all.map(shown)).toEqual(Array.from({ length: 8 }, () => shown(page)));
  });

  it('hands a page back that it cannot read', async () => {
    await readThere(bodyOf({}));
    const broken = bodyOf({}).subarray(0, -1);
    const { page, body } = await threads.read(ORDER, Buffer.from(broken));
    expect({ page, text: body?.toString() }).toEqual({ page: undefined, text: broken.toString() });
  });

  it('reads a small page here', async () => {
    const small = Buffer.from('{"transactions":[]}');
    expect(await threads.read(ORDER, small)).toEqual({ body: small });
  });
});

describe('threads that end with a page', () => {
  const FATAL = `data:text/javascript,import { parentPort } from 'node:worker_threads';
    parentPort.postMessage('ready');
    parentPort.once('message', () => process.exit(1));`;
  const warnings: unknown[] = [];
  const logger = pino({}, { write: (line: string) => void warnings.push(JSON.parse(line)) });
  let threads: PageThreads;
  beforeAll(() => {
    threads = createPageThreads({ count: 2, apiKey: KEY, program: new URL(FATAL), logger });
  });
  afterAll(() => threads.close());

  /** Reads pages of a place until one of them ends a thread. */
  async function endThreadAt(from: number): Promise<void> {
    for (;;) {
      const reading = threads.read({ dataset: 'transactions', span: { from, to: 2 ** 32 } }, bodyOf({}));
      if ((await reading.catch(() => undefined)) === undefined) return;
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  }

  it('begins others, reads the page here when it comes again, and says so', async () => {
    // More ends than there were threads.
    for (const from of [1, 2, 3, 4, 5]) {
      await endThreadAt(from);
      const again = bodyOf({});
      const order = { dataset: 'transactions', span: { from, to: 2 ** 32 } };
      const { body } = await threads.read(order, again);
      expect(body === again).toBe(true);
    }
    const warning = {
      dataset: 'transactions',
      msg: 'a thread that read a page ended; the page is asked for again, and read without threads',
    };
    expect(warnings).toEqual(Array.from({ length: 5 }, () => expect.objectContaining(warning) as unknown));
  });
});

it('leaves a core to this thread and one to Postgres, and starts no more threads than the rate feeds', () => {
  expect([1, 2, 3, 4, 8].map((cores) => threadsFor(1000, cores))).toEqual([0, 0, 1, 2, 6]);
  expect([1, 10, 25, 100].map((rps) => threadsFor(rps, 64))).toEqual([1, 1, 2, 5]);
});
