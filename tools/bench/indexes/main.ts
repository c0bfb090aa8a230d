import { loadavg } from 'node:os';
import { SPAN } from '../network.ts';
import { startServer } from '../store.ts';
import { askAll } from './ask.ts';
import { copyCosts } from './copy-cost.ts';
import { generate } from './generate.ts';

/*
 * `npm run bench -- indexes`: what a missing index would cost each COPY, and which questions it would answer
 * faster. The rows are made by SQL, in five monthly partitions; a month of them is copied.
 *
 *   --transactions 5000000   how many, default 500,000; with their messages and actions they take 2.3 kB each
 *   --rounds 3               how often each COPY is repeated, default once
 */

function option(name: string, otherwise: number): number {
  const index = process.argv.indexOf(`--${name}`);
  return index === -1 ? otherwise : Number(process.argv[index + 1]);
}

function tell(values: object): void {
  const rounded = (_: string, value: unknown) =>
    typeof value === 'number' && !Number.isInteger(value) ? Number(value.toPrecision(3)) : value;
  console.log(JSON.stringify({ ...values, load: loadavg()[0] }, rounded));
}

const transactions = option('transactions', 500_000);
const server = await startServer();
try {
  const store = await server.create('indexes', SPAN);
  const start = performance.now();
  await generate(store, transactions);
  tell({ measure: 'rows made', transactions, seconds: (performance.now() - start) / 1000 });
  for (const answer of await askAll(store)) tell({ measure: 'question', ...answer });
  for (const cost of await copyCosts(store, option('rounds', 1)))
    tell({ measure: 'COPY of a month', ...cost });
  await store.close();
} finally {
  await server.stop();
}
