import { sql } from 'drizzle-orm';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import * as z from 'zod';
import { readCoverage } from '../../src/ledger/stored-coverage.ts';
import { readVerified } from '../../src/write/certificates.ts';
import { block_parents, blocks } from '../../src/tables/ton/blocks.ts';
import { unseal } from '../../src/write/seals.ts';
import type { ApiRequest } from '../../src/simulator/http/api.ts';
import type { HttpResponse } from '../../src/simulator/http/response.ts';
import { common, spanOfSecond } from '../../src/range.ts';
import { openTestCrawl } from '../support/crawl.ts';
import { expectProved, kindsOf, openNetworkProof, openProof, type NetworkProof } from '../support/verify.ts';

const START = Date.UTC(2026, 6, 1) / 1000;
const STREAM = { dataset: 'blocks', scope: '', pass: 0 };

const Place = z.object({ seqno: z.number(), second: z.coerce.number() });
const First = Place.extend({ root_hash: z.string() });
const Blocks = z.object({ blocks: z.array(z.looseObject({ gen_utime: z.coerce.number() })) });
const Info = z.looseObject({ first: z.looseObject({}) });

let network: NetworkProof;
/** Where the index begins, since the server has forgotten what is older. */
let first: z.infer<typeof First> | undefined;

beforeAll(async () => {
  network = await openNetworkProof({
    network: {
      start: START,
      duration: 300,
      seed: 8,
      load: 2,
      firstSeqno: 1000,
      masterchainInterval: 5,
      shardInterval: 1,
      after: (request, response) => forget(request, response),
    },
    datasets: ['blocks'],
  });
});
afterAll(() => network.close());
beforeEach(() => {
  first = undefined;
});

/** What a server says that has dropped its oldest blocks. */
function forget({ path }: ApiRequest, response: HttpResponse): HttpResponse {
  if (first === undefined || response.status !== 200) return response;
  const { seqno, second, root_hash } = first;
  const said: unknown = JSON.parse(response.body.toString());
  if (path.endsWith('/masterchainInfo')) {
    const info = Info.parse(said);
    const begin = { ...info.first, seqno, root_hash, gen_utime: String(second) };
    return { ...response, body: JSON.stringify({ ...info, first: begin }) };
  }
  if (!/blocks|masterchainBlockShardState/.test(path)) return response;
  const kept = Blocks.parse(said).blocks.filter(({ gen_utime }) => gen_utime >= second);
  return {
    ...response,
    body: JSON.stringify({ blocks: kept.map((block) => ({ ...block, gen_utime: String(block.gen_utime) })) }),
  };
}

const run = (text: string) => network.store.database.run(sql.raw(text));
const certified = () => readVerified(network.store.database, STREAM);

/** Takes blocks away as if no answer had ever had them. */
async function neverHad(condition: string): Promise<void> {
  for (const table of ['block_parents', 'blocks']) await run(`delete from ton.${table} t where ${condition}`);
  for (const table of [blocks, block_parents]) await unseal(network.store.database, table, network.range);
  await run(`update etl.coverage set verified = '{}'`);
}

test('the index of a network is proved from its first block on', () =>
  expectProved(network.proof, network.datasets, network.range));

test('a block that is missing where the index begins is found, and comes back', async () => {
  const { store, proof, datasets, range } = network;
  const [lowest] = await store.database.rows(
    sql`select seqno, extract(epoch from utime)::int8 as second from ton.blocks
        where workchain = 0 and masterchain_block_ref_seqno = 1000 order by seqno, shard limit 1`,
    Place,
  );
  await neverHad(`t.workchain = 0 and t.seqno = ${lowest!.seqno}`);
  const found = await proof.verify(datasets, range);
  expect(kindsOf(found, 'blocks')).toContain('blocks: missing_block');
  expect(common(await certified(), [spanOfSecond(lowest!.second)])).toEqual([]);
  await proof.repair(datasets, range, found);
  await expectProved(proof, datasets, range);
});

test('what was read before the index began later is neither proved nor taken for a hole at its start', async () => {
  const { store, simulator, proof, datasets, range } = network;
  const lacking = { from: range.from + 60, to: range.from + 90 };
  await run(`update etl.coverage set covered = covered - int8multirange(int8range(null, ${lacking.from}))`);
  await neverHad(`t.utime < to_timestamp(${lacking.from})`);
  const span = { from: lacking.from, to: range.to };
  const [begin] = await store.database.rows(
    sql`select seqno, root_hash, extract(epoch from utime)::int8 as second from ton.blocks
        where workchain = -1 and utime >= to_timestamp(${range.from + 200}) order by seqno limit 1`,
    First,
  );
  first = begin;
  const crawl = await openTestCrawl(store, simulator.url);
  const later = await openProof(store, crawl);
  const whole = await later.verify(datasets, span);
  expect(kindsOf(whole, 'blocks')).toEqual(['blocks: not_closed']);
  // But for the blocks whose parents are no longer known.
  expect((await certified())[0]!.from - span.from).toBeLessThan(12);
  await later.repair(datasets, span, whole);
  expect(await readCoverage(store.database, STREAM)).toEqual([span]);

  await neverHad(`t.workchain = 0 and t.utime < to_timestamp(${lacking.to})`);
  await later.verify(datasets, span);
  expect(common(await certified(), [lacking])).toEqual([]);
  await crawl.close();
  first = undefined;
  await proof.repair(datasets, span, await proof.verify(datasets, span));
  await expectProved(proof, datasets, span);
});
