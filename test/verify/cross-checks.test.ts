import { sql } from 'drizzle-orm';
import * as z from 'zod';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { jetton_transfers } from '../../src/tables/ton/jettons-and-nfts.ts';
import { messages } from '../../src/tables/ton/transactions.ts';
import { createPartitions } from '../../src/write/target.ts';
import { unseal } from '../../src/write/seals.ts';
import { HOUR } from '../../src/range.ts';
import { runChecks } from '../../src/verify/verify.ts';
import { openNetworkProof } from '../support/verify.ts';

const START = Date.UTC(2026, 4, 1) / 1000;

let opened: Awaited<ReturnType<typeof openNetworkProof>>;
beforeAll(async () => {
  opened = await openNetworkProof({
    network: { start: START, duration: 300, seed: 8, load: 4 },
    datasets: ['transactions', 'jetton_transfers'],
  });
});
afterAll(() => opened.close());

const run = (text: string) => opened.store.database.run(sql.raw(text));

/** Transactions that should have made a row, if all transactions of the range are proved. */
async function lacking(): Promise<string[]> {
  const { proof, datasets, range } = opened;
  const dataset = datasets.find(({ name }) => name === 'jetton_transfers')!;
  const checked = await runChecks(proof.context, {
    dataset,
    stream: { dataset: dataset.name, scope: '', pass: 0 },
    covered: [range],
    coverage: [range],
    proved: new Map([['transactions', [range]]]),
  });
  return checked
    .flatMap(({ findings }) => findings)
    .filter(({ kind }) => kind === 'missing_row')
    .flatMap(({ rows }) => rows.map(({ key }) => key));
}

test('a missing row is reported even if the message that made it was sent hours before', async () => {
  const { store, range } = opened;
  const [received] = await store.database.rows(
    sql`select t.hash, t.in_msg_hash as message from ton.transactions t join ton.jetton_transfers j
          on j.transaction_hash = t.hash
        where exists (select 1 from ton.jetton_transfers o
          where o.source_wallet = j.source_wallet and o.transaction_hash <> j.transaction_hash)
        order by t.utime, t.hash limit 1`,
    z.object({ hash: z.string(), message: z.string() }),
  );
  const { hash, message } = received!;
  const before = new Date(1000 * (range.from - 4 * HOUR)).toISOString();
  await createPartitions(store.database, 'month').ensure([messages], [before]);
  await run(`update ton.messages set utime = utime - interval '3 hours' where hash = '${message}'`);
  await run(
    `update ton.transactions set in_msg_utime = in_msg_utime - interval '3 hours' where hash = '${hash}'`,
  );
  expect(await lacking()).toEqual([]);
  await run(`delete from ton.jetton_transfers where transaction_hash = '${hash}'`);
  await unseal(store.database, jetton_transfers, range);
  expect(await lacking()).toEqual([hash]);
});
