import { expect, test } from 'vitest';
import blocks from '../../../jobs/blocks.ts';
import traces from '../../../jobs/traces.ts';
import transactions from '../../../jobs/transactions.ts';
import { parseJson, listOf } from '../../../src/api/read-response.ts';
import { readBody } from '../../../src/crawl/streams/page.ts';
import type { Job } from '../../../src/dataset/job.ts';
import { sampleBlock, sampleTransaction } from '../../support/samples/sample-records.ts';
import { sampleTrace } from '../../support/samples/sample-streams.ts';

/** The quarantine entries of a page with one record, read both ways. */
async function rejectedOf(job: Job, record: string): Promise<string[]> {
  const body = `{"${job.list}":[${record}]}`;
  const fast = (await readBody(job, Buffer.from(body), () => Promise.resolve())).reading.rejected;
  const careful = job.read(listOf(job.list)(parseJson(body))).rejected;
  expect(fast.map(({ path, reason }) => [path, reason])).toEqual(
    careful.map(({ path, reason }) => [path, reason]),
  );
  return careful.map(({ path, reason }) => `${path}: ${reason}`);
}

const twice = (record: unknown, place: RegExp, again: string) =>
  JSON.stringify(record).replace(place, (found) => `${found}${again}`);

test.each([
  ['a member of a record', transactions, twice(sampleTransaction(), /^\{/, '"lt":"1",'), 'lt'],
  ['one with equal values', transactions, twice(sampleTransaction(), /^\{/, '"account":"x",'), 'account'],
  [
    'a member deep in it',
    transactions,
    twice(sampleTransaction(), /"compute_ph":\{/, '"gas_used":"1",'),
    'description.compute_ph.gas_used',
  ],
  ['a member with an escaped name', blocks, twice(sampleBlock(), /^\{/, '"\\u0073eqno":1,'), 'seqno'],
  [
    'a currency',
    transactions,
    JSON.stringify(sampleTransaction({ total_fees_extra_currencies: {} })).replace(
      '"total_fees_extra_currencies":{}',
      '"total_fees_extra_currencies":{"1":"5","1":"7"}',
    ),
    'total_fees_extra_currencies.1',
  ],
] as const)('%s that is repeated takes its record to quarantine', async (_name, job, record, path) => {
  expect(await rejectedOf(job, record)).toEqual([`${path}: is a duplicate member`]);
});

test('a tree node with a repeated member takes its trace to quarantine', async () => {
  const record = twice(sampleTrace(), /"trace":\{/, '"in_msg_hash":null,');
  expect(await rejectedOf(traces, record)).toEqual([
    expect.stringMatching(/^trace\..*: is a duplicate member$/),
  ]);
});

test('a repeated member within free-form JSON is accepted', async () => {
  const record = JSON.stringify(sampleTransaction()).replace(/"decoded":\{/, '"decoded":{"a":1,"a":2,');
  expect(record).toContain('"a":1,"a":2');
  expect(await rejectedOf(transactions, record)).toEqual([]);
});

test('a repeated list makes its page a bad response', async () => {
  for (const body of [
    '{"blocks":[],"blocks":[]}',
    `{"blocks":[${JSON.stringify(sampleBlock())}],"blocks":[]}`,
  ])
    await expect(readBody(blocks, Buffer.from(body), () => Promise.resolve())).rejects.toThrow(
      'duplicate member blocks',
    );
});
