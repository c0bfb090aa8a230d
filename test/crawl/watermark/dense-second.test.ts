import { afterEach, expect, test } from 'vitest';
import { systemClock } from '../../../src/clock.ts';
import { readChainInfo } from '../../../src/crawl/source-chain.ts';
import { createWatermarkReader } from '../../../src/crawl/watermark/watermark.ts';
import { json, startFakeApi, type FakeApi, type HttpResponse } from '../../api/fake-api.ts';
import { never } from '../../support/crawl.ts';

const START = Date.UTC(2026, 2, 1) / 1000;
const SECONDS = 30;
/** More shards than the server has time for in one page. */
const SHARDS = 16;
const MOST_ROWS = 16;

let api: FakeApi;
afterEach(() => api.close());

/** The blocks of one second: one of the masterchain, and one of each shard. */
function blocksOf(seqno: number) {
  const blockOf = (workchain: number, shard: string) => ({
    workchain,
    shard,
    seqno,
    gen_utime: String(START + seqno),
    global_id: -239,
    prev_blocks: [{ workchain, shard, seqno: seqno - 1 }],
  });
  // The lowest bit ends the prefix, and the API prints no leading zeros.
  const shardOf = (prefix: number) => ((2n * BigInt(prefix) + 1n) << 59n).toString(16).toUpperCase();
  const shards = Array.from({ length: SHARDS }, (_, prefix) => blockOf(0, shardOf(prefix)));
  return [blockOf(-1, '8000000000000000'), ...shards];
}

const CHAIN = Array.from({ length: SECONDS }, (_, index) => blocksOf(index + 1));

const serve: HttpResponse = (request, response, body) => {
  const { pathname, searchParams } = new URL(request.url ?? '', 'http://fake');
  const asked = (name: string) => Number(searchParams.get(name) ?? 0);
  const answer = () => {
    if (pathname === '/api/v3/masterchainInfo')
      return json({ first: CHAIN[0]?.[0], last: CHAIN.at(-1)?.[0] });
    if (pathname !== '/api/v3/blocks') return json({ blocks: CHAIN[asked('seqno') - 1] ?? [] });
    if (asked('limit') > MOST_ROWS) return json({ error: 'timeout: context deadline exceeded' }, 500);
    const since = CHAIN.flat().filter(({ gen_utime }) => Number(gen_utime) >= asked('start_utime'));
    return json({ blocks: since.slice(asked('offset'), asked('offset') + asked('limit')) });
  };
  answer()(request, response, body);
};

test('the watermark reads on within a second that has more blocks than a page', async () => {
  api = await startFakeApi();
  api.answer(serve);
  const client = api.client();
  const info = await readChainInfo(client, never.leaving);
  const reader = createWatermarkReader({ api: client, info, clock: systemClock, delaySeconds: 0 });
  const { head, waitingFor } = await reader.read(never.leaving);
  expect({ head, waitingFor }).toEqual({
    head: { seqno: SECONDS, utime: START + SECONDS },
    waitingFor: undefined,
  });
});
