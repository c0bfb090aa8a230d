import { sql } from 'drizzle-orm';
import * as z from 'zod';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { transactions } from '../../src/tables/ton/transactions.ts';
import { proveRange } from '../../src/verify/prove.ts';
import { openHoles, openNetworkProof } from '../support/verify.ts';

const START = Date.UTC(2026, 4, 1) / 1000;
const STREAM = { dataset: 'traces', scope: '', pass: 0 };

let opened: Awaited<ReturnType<typeof openNetworkProof>>;
beforeAll(async () => {
  opened = await openNetworkProof({
    network: { start: START, duration: 200, seed: 8, load: 2 },
    datasets: ['blocks', 'transactions', 'traces'],
  });
});
afterAll(() => opened.close());

test('a wrong row is deleted only with the coverage of its second', async () => {
  const { store, proof, datasets, range } = opened;
  const [wrong] = await store.database.rows(
    sql`select t.hash, extract(epoch from e.utime)::int8 as end
        from ton.trace_nodes e join ton.transactions t on t.hash = e.tx_hash
        where t.utime > to_timestamp(${range.from + 100}) order by e.utime, t.hash limit 1`,
    z.object({ hash: z.string(), end: z.coerce.number() }),
  );
  const { hash, end } = wrong ?? { hash: '', end: 0 };
  await store.database.run(sql`update ton.transactions set compute_gas_used = 5 where hash = ${hash}`);
  const traces = datasets.filter(({ name }) => name === 'traces');
  const options = { datasets: traces, range, share: 1, repair: false, random: Math.random };
  await proveRange(proof.context, options);
  const reopen = () =>
    openHoles(store, {
      stream: STREAM,
      holes: [{ from: end, to: end + 1 }],
      tables: [{ name: 'transactions', table: transactions, owner: 'transactions' }],
    });
  const isStored = () => store.database.run(sql`select from ton.transactions where hash = ${hash}`);
  await reopen();
  expect(await isStored()).toBe(1);
  await store.database.run(sql`delete from etl.coverage where dataset = 'transactions'`);
  await reopen();
  expect(await isStored()).toBe(0);
});
