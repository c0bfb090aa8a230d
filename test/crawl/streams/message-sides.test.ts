import { sql } from 'drizzle-orm';
import { expect } from 'vitest';
import * as z from 'zod';
import { fillRange } from '../../../src/crawl/streams/read-leases.ts';
import { findReadablePart } from '../../../src/crawl/streams/readable-part.ts';
import { datasetsNamed, never, openTestCrawl } from '../../support/crawl.ts';
import { openTestStore } from '../../support/database/database.ts';
import { startSimulator, type SimulatorOptions } from '../../support/simulator/simulator.ts';
import { thorough } from '../../support/thorough.ts';

const START = Date.UTC(2026, 2, 1) / 1000;
const DURATION = 700;

const Message = z.looseObject({ hash: z.string(), source: z.string().nullable() });
const Page = z.looseObject({
  transactions: z.array(z.looseObject({ in_msg: Message.nullish(), out_msgs: z.array(Message).nullish() })),
});

/** The sender's side of each message lacks its content, and the receiver's side lacks what the sender's has. */
const lacking: SimulatorOptions['after'] = ({ path }, response) => {
  if (!path.endsWith('/transactions') || response.status !== 200) return response;
  const page = Page.parse(JSON.parse(String(response.body)));
  const received = ({ hash, source, ...rest }: z.output<typeof Message>) => ({
    ...{ ...rest, hash, source, out_msg_tx_hash: null },
    message_content: { hash, body: 'body', decoded: { a: 1 } },
    decoded_opcode: source === null ? 'sent' : null,
  });
  const changed = page.transactions.map(({ in_msg, out_msgs, ...rest }) => ({
    ...rest,
    in_msg: in_msg && received(in_msg),
    out_msgs: out_msgs?.map((sent) => ({ ...sent, message_content: null, decoded_opcode: 'sent' })),
  }));
  return { ...response, body: JSON.stringify({ ...page, transactions: changed }) };
};

const Count = z.object({ count: z.coerce.number() });

thorough(
  'has for each message what either of its sides has',
  async () => {
    const store = await openTestStore();
    const simulator = await startSimulator({
      start: START,
      duration: DURATION,
      seed: 1,
      load: 20,
      after: lacking,
    });
    const count = async (query: ReturnType<typeof sql>) =>
      (await store.database.rows(query, Count))[0]?.count;
    try {
      // Two processes share the range, so messages lie between pages and between leases.
      const crawls = [await openTestCrawl(store, simulator.url), await openTestCrawl(store, simulator.url)];
      await Promise.all(
        crawls.map(async (crawl) => {
          const wanted = { from: 0, to: crawl.chain.last.utime };
          const readable = await findReadablePart({
            ...crawl,
            wanted,
            delaySeconds: 0,
            signal: never.leaving,
          });
          await fillRange({
            ...crawl,
            datasets: await datasetsNamed('transactions'),
            readable,
            stop: never,
          });
        }),
      );
      for (const crawl of crawls) await crawl.close();
      const whole = sql`ton.messages m join ton.transactions t on t.in_msg_hash = m.hash and t.in_msg_utime = m.utime
      where m.source is not null and exists (select from ton.transactions s where s.hash = m.out_msg_tx_hash)`;
      expect(await count(sql`select count(*) from ${whole}`)).toBeGreaterThan(5000);
      const lacks = sql`(m.content_body is null or m.content_decoded is null or m.decoded_opcode is null)`;
      expect(await count(sql`select count(*) from ${whole} and ${lacks}`)).toBe(0);
    } finally {
      await simulator.close();
      await store.close();
    }
  },
  120_000,
);
