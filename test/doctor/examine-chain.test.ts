import { afterEach, expect, test } from 'vitest';
import { readChainInfo } from '../../src/crawl/source-chain.ts';
import { createWatermarkReader } from '../../src/crawl/watermark/watermark.ts';
import { examineChain } from '../../src/doctor/examine.ts';
import type { SimulatorOptions } from '../support/simulator/simulator.ts';
import { never } from '../support/crawl.ts';
import { useNetwork } from '../support/network.ts';

const START = Date.UTC(2026, 2, 1) / 1000;
const network = useNetwork({ start: START, duration: 600, load: 1, accounts: 100 });

let isSpoiled = false;
afterEach(() => {
  isSpoiled = false;
});

/** The findings of doctor on the watermark of a source that is changed after the crawl was opened. */
async function examine(options: SimulatorOptions, rootHash?: string | null) {
  await network.serve(options);
  return network.crawl(
    async ({ context: { api, clock } }) => {
      isSpoiled = true;
      const findings = await examineChain({
        database: network.store.database,
        read: async (signal) => {
          const info = await readChainInfo(api, signal);
          const first = { ...info.first, rootHash: rootHash ?? undefined };
          return rootHash === undefined ? info : { ...info, first };
        },
        readWatermark: (info, signal) =>
          createWatermarkReader({
            ...{ api, info, clock, delaySeconds: 0, joinedUntil: info.last.utime },
          }).read(signal),
        finishing: never.finishing,
        now: undefined,
      });
      return findings.filter(({ check }) => check === 'watermark' || check === 'network');
    },
    { hasty: true, maxAttempts: 1 },
  );
}

const without =
  (workchain: number): NonNullable<SimulatorOptions['after']> =>
  ({ path }, response) => {
    if (!isSpoiled || !/masterchainBlockShardState|shards$/i.test(path)) return response;
    const body = JSON.parse(response.body.toString()) as { blocks?: { workchain: number }[] };
    const blocks = body.blocks?.filter((block) => block.workchain !== workchain);
    return { ...response, body: JSON.stringify({ ...body, blocks }) };
  };

test('a source with a complete state has no finding', async () => {
  expect(await examine({})).toEqual([]);
});

test('shard states without the shards are a finding that says what the program needs', async () => {
  expect(await examine({ after: without(0) })).toMatchObject([
    {
      what: expect.stringMatching(/^the watermark is not known: /) as string,
      remedy: expect.stringContaining('needs the tops of all shards') as string,
    },
  ]);
});

test('another chain under the same global_id is a finding, and a source that tells no hash is none', async () => {
  expect(await examine({}, null)).toEqual([]);
  expect(await examine({}, `${'B'.repeat(43)}=`)).toMatchObject([
    { check: 'network', what: expect.stringContaining('the database holds another chain') as string },
  ]);
});
