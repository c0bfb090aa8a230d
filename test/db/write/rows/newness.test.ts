import { describe, expect, it } from 'vitest';
import { messages } from '../../../../src/db/schema/ton/messages.ts';
import { traces } from '../../../../src/db/schema/ton/traces.ts';
import { freshBehind, MOST_HALVES, type Fresh } from '../../../../src/dataset/fresh.ts';
import { halfOf, sorter, type BroughtRow, type Known } from '../../../../src/db/write/rows/newness.ts';
import { targetOf } from '../../../../src/db/write/rows/target.ts';
import { formatTime } from '../../../../src/range.ts';

const NOW = 1_780_000_000;
const SPAN = { from: NOW, to: NOW + 1000 };
const target = targetOf(messages);
const CONTENT = 1;
const SENDER = 2;

/** A message of the first second of the range; `by` are how many of its two transactions the page has as new ones. */
function message({
  by = 1,
  at = NOW,
  seen = NOW,
  filled = CONTENT,
  ends = 2,
  merged = false,
} = {}): BroughtRow {
  return {
    key: `${formatTime(at)}|hash`,
    writer: { bringers: () => ends, filled: () => filled },
    ...{ record: {}, given: {}, extra: null, utime: seen, newBringers: by },
    merged: merged ? {} : undefined,
  };
}

const knowing = (halves: Fresh['halves']): Known => ({
  fresh: { after: NOW - 1, but: new Map(), halves },
  span: SPAN,
});

/** Where a message goes, and what is noted of it. */
function sort(row: BroughtRow, known: Known = knowing(new Map())) {
  const halves = new Map<string, number | undefined>();
  const destination = sorter(target, known, halves)(row);
  return { destination, noted: [...halves.values()] };
}

const NAME = halfOf(target, message().key);

describe('a message', () => {
  it('is new where both of its sides are', () => {
    expect(sort(message({ by: 2 }))).toEqual({ destination: 'fresh', noted: [] });
    expect(sort(message({ by: 1, ends: 1 }))).toEqual({ destination: 'fresh', noted: [] });
    expect(sort(message({ by: 0 }))).toEqual({ destination: 'others', noted: [] });
    expect(sort(message({ by: 2 }), {}).destination).toBe('others');
  });

  it("is new with its sender's side, whose receiver comes later in the range", () => {
    expect(sort(message())).toEqual({ destination: 'fresh', noted: [CONTENT] });
  });

  it('may be stored where the receiver may lie behind the range', () => {
    const late = SPAN.to - 30;
    expect(sort(message({ at: late, seen: late })).destination).toBe('others');
    expect(sort(message({ at: late - 1, seen: late - 1 })).destination).toBe('fresh');
    const { fresh } = knowing(new Map());
    expect(sort(message(), { fresh }).destination).toBe('others');
  });

  it('may be stored where its receiver alone has come', () => {
    expect(sort(message({ seen: NOW + 7 }))).toEqual({ destination: 'others', noted: [CONTENT] });
    expect(sort(message({ at: NOW - 5, seen: NOW }))).toEqual({ destination: 'others', noted: [CONTENT] });
  });

  it.each([
    { what: 'nothing to add', stored: CONTENT | SENDER, destination: 'nowhere' },
    { what: 'content that was lacking', stored: SENDER, destination: 'others' },
  ])("goes where it must when its receiver's side has $what", ({ stored, destination }) => {
    const known = knowing(new Map([[NAME, stored]]));
    expect(sort(message({ seen: NOW + 7 }), known)).toEqual({ destination, noted: [undefined] });
  });

  it('is stored where another range has brought it, whatever it holds', () => {
    expect(sort(message(), knowing(new Map([[NAME, 0]])))).toEqual({
      destination: 'others',
      noted: [undefined],
    });
  });

  it('may be stored where halves are not known, or several copies of one were put together', () => {
    expect(sort(message(), knowing(undefined))).toEqual({ destination: 'others', noted: [] });
    expect(sort(message({ merged: true }))).toEqual({ destination: 'others', noted: [] });
  });
});

it('leaves out no row of which the last copy counts', () => {
  const replaced = { ...target, facts: { ...target.facts, conflict: { kind: 'replace' } } } as const;
  const destinationOf = sorter(replaced, knowing(new Map([[NAME, CONTENT]])), new Map());
  expect(destinationOf(message({ seen: NOW + 7 }))).toBe('others');
  expect(destinationOf(message({ by: 2 }))).toBe('fresh');
});

it('takes no row for new that may take the place of another one', () => {
  const destinationOf = sorter(targetOf(traces), knowing(new Map()), new Map());
  expect(destinationOf(message({ by: 2 }))).toBe('others');
});

describe('halves', () => {
  const behind = (before: Fresh, halves: ReadonlyMap<string, number | undefined>) =>
    freshBehind(before, [], NOW + 10, { digests: new Map(), halves })?.halves;

  it('are those of all pages, but for those that were completed', () => {
    const { fresh } = knowing(new Map([['a', 1]]));
    expect(behind(fresh!, new Map([['b', 2]]))).toEqual(
      new Map([
        ['a', 1],
        ['b', 2],
      ]),
    );
    expect(behind(fresh!, new Map([['a', undefined]]))).toEqual(new Map());
    expect(behind(knowing(undefined).fresh!, new Map([['b', 2]]))).toBeUndefined();
  });

  it('are forgotten from the oldest where there are too many', () => {
    const { fresh } = knowing(new Map([['oldest', 1]]));
    const many = new Map(Array.from({ length: MOST_HALVES }, (_, index) => [`${index}`, 1]));
    const left = behind(fresh!, many);
    expect(left?.size).toBe(MOST_HALVES);
    expect(left?.has('oldest')).toBe(false);
  });
});
