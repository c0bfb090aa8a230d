import { getTableColumns } from 'drizzle-orm';
import { describe, expect, it } from 'vitest';
import job from '../../jobs/blocks.ts';
import { block_parents, blocks } from '../../src/tables/ton/blocks.ts';
import { rebuildBlock } from '../support/rebuild/rebuild.ts';
import { comparable } from '../support/rebuild/same-record.ts';
import { sampleBlock } from '../support/samples/sample-records.ts';
import { hasCorpus, NO_CORPUS, recordedBlocks } from '../support/shared-data.ts';
import { asTextRow } from '../support/rebuild/text-row.ts';

type Json = Record<string, unknown>;

function rowsOf(record: Json): { block: Json; parents: Json[]; extra: object } {
  const { accepted, rejected } = job.read([record]);
  expect(rejected).toEqual([]);
  const { rows, extra } = accepted[0]!;
  return { block: rows['blocks']![0] as Json, parents: rows['block_parents'] as Json[], extra };
}

function expectUnchanged(record: Json): void {
  const { block, parents } = rowsOf(record);
  const rebuilt = rebuildBlock(
    asTextRow(blocks, block),
    parents.map((parent) => asTextRow(block_parents, parent)).reverse(),
  );
  expect(comparable('blocks', rebuilt)).toEqual(comparable('blocks', record));
}

describe('jobs/blocks', () => {
  it('rebuilds a block with every documented member from its rows', () => {
    expectUnchanged(sampleBlock());
    expectUnchanged(
      sampleBlock({
        after_merge: false,
        before_split: true,
        after_split: false,
        want_merge: true,
        key_block: true,
      }),
    );
    expectUnchanged(sampleBlock({ want_split: false, vert_seqno_incr: false, masterchain_block_ref: null }));
  });

  it('fills every column of both tables except the time of loading', () => {
    const { block, parents } = rowsOf(sampleBlock());
    expect([...Object.keys(block), 'loaded_at'].sort()).toEqual(Object.keys(getTableColumns(blocks)).sort());
    expect([...Object.keys(parents[0]!), 'loaded_at'].sort()).toEqual(
      Object.keys(getTableColumns(block_parents)).sort(),
    );
  });

  it('takes the time of a block as a string of digits or a number', () => {
    expect(rowsOf(sampleBlock({ gen_utime: '1760000000' })).block['utime']).toBe('2025-10-09T08:53:20Z');
    expect(rowsOf(sampleBlock({ gen_utime: 1_760_000_000 })).parents[0]!['utime']).toBe(
      '2025-10-09T08:53:20Z',
    );
  });

  it('keeps undocumented members', () => {
    const record = sampleBlock({
      newborn: 1,
      masterchain_block_ref: { workchain: -1, shard: '8', seqno: 1, x: 'y' },
    });
    expect(rowsOf(record).block['extra']).toEqual({ newborn: 1, 'masterchain_block_ref.x': 'y' });
    expectUnchanged(record);
  });

  it('rejects a block without an identifier or a count', () => {
    for (const name of ['workchain', 'shard', 'seqno', 'gen_utime', 'tx_count']) {
      expect(job.read([sampleBlock({ [name]: null })]).rejected).toMatchObject([{ path: name }]);
    }
  });

  it('reads the position of a block from its time, start and name', () => {
    const block = sampleBlock({
      workchain: -1,
      shard: '8',
      seqno: 5,
      gen_utime: '1760000000',
      start_lt: '9',
    });
    expect(job.read([block]).positions).toEqual([{ utime: 1_760_000_000, lt: '9', id: '-1:8:5' }]);
  });
});

interface Link {
  readonly seqno: number;
  readonly time: number;
  readonly shard?: string;
  readonly parents?: readonly [string, number][];
  readonly before_split?: boolean;
}

/** Up to which time a page of blocks is linked, counted from 1,760,000,000. */
function joined(links: readonly Link[]): number | undefined {
  const records = links.map(
    ({ seqno, time, shard = '8', parents = [[shard, seqno - 1]], before_split = false }) =>
      sampleBlock({
        workchain: 0,
        shard,
        seqno,
        gen_utime: String(1_760_000_000 + time),
        before_split,
        prev_blocks: parents.map(([parent, number]) => ({ workchain: 0, shard: parent, seqno: number })),
      }),
  );
  const until = job.read(records).joins?.until;
  return until === undefined || until === 0 ? until : until - 1_760_000_000;
}

describe('a page of blocks is linked', () => {
  it('up to the last block of a chain, whose successor is not in the page', () => {
    expect(
      joined([
        { seqno: 1, time: 1 },
        { seqno: 2, time: 4 },
        { seqno: 3, time: 9 },
      ]),
    ).toBe(9);
  });

  it('no further if a block of the page goes to quarantine', () => {
    const page = [1, 2, 3].map((seqno) =>
      sampleBlock({
        workchain: 0,
        shard: '8',
        seqno,
        gen_utime: String(1_760_000_000 + seqno),
        prev_blocks: [{ workchain: 0, shard: '8', seqno: seqno - 1 }],
      }),
    );
    const strange = page.map((record, index) => (index === 1 ? { ...record, tx_count: 'many' } : record));
    const reading = job.read(strange);
    expect(reading.rejected).toHaveLength(1);
    expect(reading.joins?.until).toBe(1_760_000_003);
    const unlinked = page.map((record, index) => (index === 1 ? { ...record, prev_blocks: 'none' } : record));
    expect(job.read(unlinked).joins).toBeUndefined();
  });

  it.each([
    ['another shard', { shard: '2' }],
    ['a shard that does not exist', { shard: '80000001' }],
    ['half of its shard, which did not split', { shard: '4', after_split: false }],
    ['the masterchain', { workchain: -1 }],
  ])('without a block that claims %s, whether its child is in the page or not', (_, claimed) => {
    const page = [1, 2, 3].map((seqno) =>
      sampleBlock({
        workchain: 0,
        shard: '8',
        seqno,
        gen_utime: String(1_760_000_000 + seqno),
        prev_blocks: [{ workchain: 0, shard: '8', seqno: seqno - 1 }],
        ...(seqno === 2 && claimed),
      }),
    );
    const refused = [{ path: 'shard', reason: 'does not follow from the blocks before it' }];
    expect(job.read(page).rejected).toMatchObject(refused);
    expect(job.read(page.slice(0, 2)).rejected).toMatchObject(refused);
    // So it is read from quarantine.
    expect(job.read(page.slice(1, 2)).rejected).toMatchObject(refused);
    expect(job.read(page.slice(2)).rejected).toEqual([]);
  });

  it('up to the earliest of the last blocks of several chains', () => {
    const left = [1, 2, 3].map((seqno) => ({ seqno, time: seqno * 2, shard: '4' }));
    const right = [1, 2].map((seqno) => ({ seqno, time: seqno * 2 + 1, shard: 'C' }));
    expect(joined([...left, ...right])).toBe(5);
  });

  it('up to the last block before a hole', () => {
    expect(
      joined([
        { seqno: 1, time: 1 },
        { seqno: 2, time: 2 },
        { seqno: 4, time: 4 },
        { seqno: 5, time: 5 },
      ]),
    ).toBe(2);
  });

  it('up to a split with a missing child', () => {
    const split = { seqno: 1, time: 1, before_split: true };
    const left = { seqno: 2, time: 3, shard: '4', parents: [['8', 1]] as const };
    const right = { seqno: 2, time: 4, shard: 'C', parents: [['8', 1]] as const };
    expect(joined([split, { ...left, parents: [['8', 1]] }])).toBe(1);
    expect(joined([split, { ...left, parents: [['8', 1]] }, { ...right, parents: [['8', 1]] }])).toBe(3);
  });

  it('across a merge', () => {
    const parents: [string, number][] = [
      ['4', 1],
      ['C', 1],
    ];
    expect(
      joined([
        { seqno: 1, time: 1, shard: '4' },
        { seqno: 1, time: 2, shard: 'C' },
        { seqno: 2, time: 5, parents },
      ]),
    ).toBe(5);
  });

  it('whatever the order within the page', () => {
    expect(
      joined([
        { seqno: 3, time: 9 },
        { seqno: 1, time: 1 },
        { seqno: 2, time: 4 },
      ]),
    ).toBe(9);
  });

  it('nowhere if it is empty', () => {
    expect(joined([])).toBe(0);
  });
});

describe.skipIf(!hasCorpus)(`jobs/blocks on recorded data${hasCorpus ? '' : ` (${NO_CORPUS})`}`, () => {
  it('knows and rebuilds every recorded block', () => {
    const records = recordedBlocks();
    expect(records).toHaveLength(4);
    for (const record of records) {
      expect(rowsOf(record).extra).toEqual({});
      expectUnchanged(record);
    }
  });
});
