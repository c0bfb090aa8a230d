import { sql } from 'drizzle-orm';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import * as z from 'zod';
import type { Dataset } from '../../src/dataset/dataset.ts';
import { readVerified } from '../../src/write/certificates.ts';
import { block_parents, blocks } from '../../src/tables/ton/blocks.ts';
import { unseal } from '../../src/write/seals.ts';
import { common, type Range } from '../../src/range.ts';
import { verifyRange } from '../../src/verify/verify.ts';
import type { TestStore } from '../support/database/database.ts';
import type { Simulator, SimulatorOptions } from '../support/simulator/simulator.ts';
import { kindsOf, openNetworkProof, type Proof } from '../support/verify.ts';

const START = Date.UTC(2026, 4, 1) / 1000;

let store: TestStore;
let simulator: Simulator;
let proof: Proof;
let datasets: Dataset[];
let range: Range;
let close: () => Promise<void>;

/** Changes each response, if a test sets it. */
let alter: NonNullable<SimulatorOptions['after']> = (_, response) => response;

beforeAll(async () => {
  const after: SimulatorOptions['after'] = (request, response) => alter(request, response);
  const network = { start: START, duration: 400, seed: 102, reshardEvery: 15, after };
  ({ store, simulator, proof, datasets, range, close } = await openNetworkProof({
    network,
    datasets: ['blocks'],
    config: { attempts: 2 },
  }));
});
afterAll(() => close());

const run = (text: string) => store.database.run(sql.raw(text));

describe('a source that responds to verification with other rows than requested', () => {
  const BlockPage = z.looseObject({ blocks: z.array(z.looseObject({ prev_blocks: z.array(z.unknown()) })) });
  const certified = () => readVerified(store.database, { dataset: 'blocks', scope: '', pass: 0 });

  /** Removes a block as if it had never come. */
  async function lose(condition: string): Promise<number> {
    const [block] = await store.database.rows(
      sql.raw(`select workchain || ' ' || shard || ' ' || seqno as name, extract(epoch from utime)::int8 as second
        from ton.blocks where workchain = 0 and ${condition} limit 1`),
      z.object({ name: z.string(), second: z.coerce.number() }),
    );
    const { name, second } = block!;
    for (const table of ['blocks', 'block_parents'])
      await run(`delete from ton.${table} where concat_ws(' ', workchain, shard, seqno) = '${name}'`);
    for (const table of [blocks, block_parents]) await unseal(store.database, table, range);
    await run(`update etl.coverage set verified = '{}' where dataset = 'blocks'`);
    return second;
  }

  /** Verifies blocks while responses are altered, and then not. */
  async function expectUnproved(part: Range, second: number, change: typeof alter): Promise<void> {
    let altered = 0;
    alter = (request, response) => {
      const changed = change(request, response);
      if (changed !== response) altered += 1;
      return changed;
    };
    await proof.verify(datasets, part).catch(() => undefined);
    alter = (_, response) => response;
    expect(altered).toBeGreaterThan(0);
    expect(common(await certified(), [{ from: second, to: second + 1 }])).toEqual([]);
    await proof.cover(datasets, await proof.readable());
    await proof.repair(datasets, range, await proof.verify(datasets, range));
    expect(await certified()).toEqual([range]);
  }

  test('proves nothing from tops without parents', async () => {
    const second = await lose(`true order by utime desc, shard`);
    await expectUnproved(range, second, ({ path }, response) => {
      if (path !== '/api/v3/masterchainBlockShardState') return response;
      const { blocks: tops, ...rest } = BlockPage.parse(JSON.parse(String(response.body)));
      const loose = tops.map((block) => ({ ...block, prev_blocks: [] }));
      return { ...response, body: JSON.stringify({ ...rest, blocks: loose }) };
    });
  });

  test('proves nothing from blocks of another time than the one before a range', async () => {
    const part = { from: range.from + 100, to: range.from + 300 };
    const second = await lose(`utime > to_timestamp(${part.from + 40}) order by utime, shard`);
    await run(
      `update etl.coverage set covered = covered - '{[${range.from},${part.from})}' where dataset = 'blocks'`,
    );
    const newest = await fetch(`${simulator.url}/api/v3/blocks?sort=desc&limit=1000&offset=0`);
    const body = await newest.text();
    await expectUnproved(part, second, ({ path, search }, response) =>
      path === '/api/v3/blocks' && search.get('sort') === 'desc' ? { ...response, body } : response,
    );
  });

  test.each([
    ['to lie behind the range', 'the source knows what follows', 0],
    ['to be later than the masterchain block that names it', 'what follows is stored', 3600],
  ])('proves nothing from a top of an idle shard that claims %s, if %s', async (_, place, later) => {
    // In this response the shard has made no block since.
    const [last] = await store.database.rows(
      sql`select b.shard, b.seqno, extract(epoch from b.utime)::int8 as second from ton.blocks b
          where b.workchain = 0 and b.utime > to_timestamp(${range.from + 150}) and not exists (
            select 1 from ton.blocks o where o.shard <> b.shard and o.workchain = 0
              and o.utime between b.utime and b.utime + interval '30 seconds')
          order by b.utime desc limit 1`,
      z.object({ shard: z.string(), seqno: z.number(), second: z.coerce.number() }),
    );
    const { shard, seqno, second } = last!;
    const asked = await fetch(`${simulator.url}/api/v3/blocks?workchain=0&shard=${shard}&seqno=${seqno}`);
    const [top] = BlockPage.parse(await asked.json()).blocks;
    const part = { from: range.from, to: second + 1 };
    if (place !== 'what follows is stored')
      await run(
        `update etl.coverage set covered = covered - '{[${part.to},${range.to})}' where dataset = 'blocks'`,
      );
    await lose(`shard = '${shard}' and seqno = ${seqno}`);
    await expectUnproved(part, second, ({ path }, response) => {
      if (path !== '/api/v3/masterchainBlockShardState') return response;
      const { blocks: tops, ...rest } = BlockPage.parse(JSON.parse(String(response.body)));
      const resting = tops.map((block) =>
        block['workchain'] === 0 ? { ...top, gen_utime: String(part.to + later) } : block,
      );
      return { ...response, body: JSON.stringify({ ...rest, blocks: resting }) };
    });
  });

  test('proves nothing from a start of the index that is after stored blocks', async () => {
    const second = await lose(`utime > to_timestamp(${range.from + 100}) order by utime, shard`);
    const { source } = proof.context;
    const first = { seqno: 2 ** 31 - 1, utime: range.to };
    const found = await verifyRange(
      { ...proof.context, source: { ...source, chain: { ...source.chain, first } } },
      datasets,
      range,
    );
    expect(kindsOf(found, 'blocks')).toContain('blocks: missing_block');
    expect(common(await certified(), [{ from: second, to: second + 1 }])).toEqual([]);
    await proof.repair(datasets, range, found);
    expect(await certified()).toEqual([range]);
  });
});
