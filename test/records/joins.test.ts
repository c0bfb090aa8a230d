import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { block, joinsOf } from '../../src/records/block.ts';
import { blockKey } from '../../src/ton/shard.ts';
import { sampleBlock } from '../support/samples/sample-records.ts';
import { runs } from '../support/thorough.ts';

/** Shards as prefixes of bits; `''` is the whole workchain. */
interface Top {
  readonly prefix: string;
  readonly block: typeof template;
}

const template = { ...block.parse(sampleBlock({ workchain: 0 })), gen_utime: 1_760_000_000 };

function child(prefix: string, parents: readonly Top[], delay: number): Top {
  const at = Math.max(...parents.map((parent) => parent.block.gen_utime));
  const seqno = 1 + Math.max(...parents.map((parent) => parent.block.seqno));
  const prev_blocks = parents.map(({ block: { workchain, shard, seqno: number } }) => ({
    workchain,
    shard,
    seqno: number,
  }));
  const made = {
    ...template,
    shard: `S${prefix}`,
    seqno,
    gen_utime: at + delay,
    before_split: false,
    prev_blocks,
  };
  return { prefix, block: made };
}

/**
 * A network of shards that split and merge: all its blocks, sorted by time. Each choice makes one step of one
 * shard.
 */
function network(choices: readonly number[]): (typeof template)[] {
  const first: Top = {
    prefix: '',
    block: { ...template, shard: 'S', seqno: 1, gen_utime: 1000, before_split: false, prev_blocks: [] },
  };
  const blocks = [first.block];
  let tops = [first];
  for (const choice of choices) {
    const top = tops[choice % tops.length]!;
    const sibling = tops.find(({ prefix }) => prefix !== '' && prefix === flipped(top.prefix));
    const made = step(top, sibling, choice);
    if (made.length === 2) replace(blocks, top.block, { ...top.block, before_split: true });
    const ended = choice % 7 === 1 && sibling !== undefined ? [top, sibling] : [top];
    tops = [...tops.filter((one) => !ended.includes(one)), ...made];
    blocks.push(...made.map((one) => one.block));
  }
  return blocks.sort((a, b) => a.gen_utime - b.gen_utime);
}

function step(top: Top, sibling: Top | undefined, choice: number): Top[] {
  const delay = choice % 5;
  if (choice % 7 === 0 && top.prefix.length < 3) {
    return ['0', '1'].map((bit, index) => child(top.prefix + bit, [top], delay + index));
  }
  if (choice % 7 === 1 && sibling !== undefined)
    return [child(top.prefix.slice(0, -1), [top, sibling], delay)];
  return [child(top.prefix, [top], delay)];
}

function flipped(prefix: string): string {
  return `${prefix.slice(0, -1)}${prefix.endsWith('0') ? '1' : '0'}`;
}

function replace(blocks: (typeof template)[], old: typeof template, changed: typeof template): void {
  blocks[blocks.indexOf(old)] = changed;
}

describe('joinsOf', () => {
  it('is before or at the first missing block, whatever is missing of a network that splits and merges', () => {
    const choices = fc.array(fc.nat(1_000_000), { minLength: 1, maxLength: 60 });
    const missing = fc.array(fc.nat(60), { maxLength: 5 });
    fc.assert(
      fc.property(choices, missing, (steps, indexes) => {
        const all = network(steps);
        const gone = new Set(indexes.map((index) => all[1 + (index % (all.length - 1))]!));
        const page = all.filter((one) => !gone.has(one));
        const until = joinsOf(page)!.until;
        for (const one of gone) expect(one.gen_utime).toBeGreaterThanOrEqual(until);
        const { gapAt } = joinsOf(page)!;
        // A gap is behind a block of the page that lacks a successor.
        if (gapAt !== undefined) {
          const before = new Set(page.filter((one) => one.gen_utime === gapAt).map(blockKey));
          const lost = [...gone].filter((one) =>
            (one.prev_blocks ?? []).some((id) => before.has(blockKey(id))),
          );
          expect(lost).not.toEqual([]);
        }
      }),
      { seed: 42, numRuns: runs(500) },
    );
  });

  it('sees a gap in any page that has a block before the lost ones, and one after them', () => {
    fc.assert(
      fc.property(fc.nat(20), fc.integer({ min: 1, max: 5 }), (before, lost) => {
        // Each step advances one shard by a second.
        const all = network(Array.from({ length: before + lost + 3 }, () => 16));
        const page = [...all.slice(0, before + 1), ...all.slice(before + 1 + lost)];
        expect(joinsOf(page)!.gapAt).toBe(all[before]!.gen_utime);
      }),
    );
  });

  it('reaches the earliest shard top if nothing is missing', () => {
    fc.assert(
      fc.property(fc.array(fc.nat(1_000_000), { minLength: 1, maxLength: 60 }), (steps) => {
        const all = network(steps);
        const parents = new Set(all.flatMap((one) => (one.prev_blocks ?? []).map(blockKey)));
        const tops = all.filter((one) => !parents.has(blockKey(one)));
        expect(joinsOf(all)!.gapAt).toBeUndefined();
        expect(joinsOf(all)!.until).toBe(Math.min(...tops.map((one) => one.gen_utime)));
      }),
      { seed: 43, numRuns: runs(500) },
    );
  });
});
