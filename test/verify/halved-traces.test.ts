import { sql } from 'drizzle-orm';
import { expect, onTestFinished, test } from 'vitest';
import * as z from 'zod';
import { readVerified } from '../../src/write/certificates.ts';
import { transactions } from '../../src/tables/ton/transactions.ts';
import { unseal } from '../../src/write/seals.ts';
import { common } from '../../src/range.ts';
import { expectProved, openNetworkProof } from '../support/verify.ts';

test('a trace that began before what is kept of transactions keeps its certificate, and is not read again', async () => {
  const start = Date.UTC(2026, 4, 1) / 1000;
  const {
    store,
    proof,
    datasets: chain,
    range,
    close,
  } = await openNetworkProof({
    network: { start, duration: 300, seed: 8, load: 2 },
    datasets: ['blocks', 'transactions', 'traces'],
  });
  onTestFinished(close);
  const run = (text: string) => store.database.run(sql.raw(text));
  await expectProved(proof, chain, range);
  const [trace] = await store.database.rows(
    sql`select extract(epoch from t.utime)::int8 as own from ton.traces t where t.start_utime < t.utime
          and t.utime > to_timestamp(${range.from + 100}) order by t.utime, t.trace_id limit 1`,
    z.object({ own: z.coerce.number() }),
  );
  const { own } = trace!;
  const traces = { dataset: 'traces', scope: '', pass: 0 };
  const kept = JSON.stringify({ datasets: { transactions: own }, tables: { transactions: own } });
  await run(`insert into etl.settings (name, value) values ('floors', '${kept}')`);
  await run(`delete from ton.transactions where utime < to_timestamp(${own})`);
  await run(`update etl.coverage set covered = covered - '{[0,${own})}', verified = verified - '{[0,${own})}'
    where dataset = 'transactions'`);
  await unseal(store.database, transactions, range);
  const found = await proof.verify(chain, { from: own, to: range.to });
  const outcomes = found
    .flatMap(({ findings }) => findings)
    .map(({ kind, outcome }) => `${kind}: ${outcome}`);
  expect(outcomes).toEqual(['missing_transaction: expired']);
  expect(common(await readVerified(store.database, traces), [{ from: own, to: own + 1 }])).toHaveLength(1);
  await run(`delete from etl.settings where name = 'floors'`);
  await proof.cover(chain, await proof.reach());
  await expectProved(proof, chain, range);
});
