import { sql } from 'drizzle-orm';
import { block_parents, blocks as blocksTable } from '../../db/schema/ton/blocks.ts';
import type { LinkedBlock } from '../../crawl/watermark/block-links.ts';
import type { Session } from '../../db/connection/database.ts';
import { common, formatTime, type Range, without } from '../../range.ts';
import { blockKey } from '../../ton/block-key.ts';
import type { Check, Result } from '../check.ts';
import type { BlockSource } from '../closure/block-source.ts';
import { missingParents, type Missing } from '../closure/missing-parents.ts';
import { unfitLinks, unreachedBlocks } from '../closure/surplus-blocks.ts';
import { placeFirst, placeLast } from '../closure/place-missing.ts';
import {
  blocksBefore,
  surroundingsOf,
  surroundingsWithin,
  type Place,
  type Surroundings,
} from '../closure/surroundings.ts';
import { countOf, during, findingsOf, secondOf, type Finding } from '../finding.ts';

const CHECK = 'blocks';
const ATTEMPTS = 3;

export const blocks: Check = {
  name: CHECK,
  needs: [],
  steps: ({ database, source }, { covered, coverage }) =>
    covered.map((stretch) => {
      const around = coverage.find(({ from, to }) => from <= stretch.from && to >= stretch.to) ?? stretch;
      return {
        check: CHECK,
        stretch,
        waitsFor: [block_parents, blocksTable],
        run: () => checkBlocks(database, source, { stretch, covered: around }),
      };
    }),
};

/**
 * The closure: from tops at or after the stretch's end everything down by `prev_blocks` is stored, and every chain ends
 * in a block before the stretch, in seqno 0 or below the index' first block. Not walked but joined: if every top is
 * stored and every parent of every stored block is, then so is all that can be reached, by induction. And nothing else
 * is stored: every stored block is the parent of another one, or a top.
 */
async function checkBlocks(session: Session, source: BlockSource, place: Place): Promise<Result> {
  const { stretch } = place;
  const before = await blocksBefore(source, place);
  const closure = await closeAt(session, source, place, before);
  const parentless = await findParentless(session, stretch);
  const rows = await countOf(
    session,
    sql`select count(*) as count from ton.block_parents p where ${during('p', stretch)}`,
  );
  const unfit = await unfitLinks(session, stretch);
  return { findings: [...closure, ...parentless, ...unfit], rows };
}

/** What is known of the blocks after a stretch may itself be cut short: then it is asked for again. */
async function closeAt(
  session: Session,
  source: BlockSource,
  place: Place,
  before: readonly LinkedBlock[],
): Promise<Finding[]> {
  const missingAt = async (at: Place, around: Surroundings) => {
    const facts = { ...around, before, firstSeqno: source.chain.first.seqno };
    return placeFirst(source, place.stretch, await missingParents(session, at, facts));
  };
  for (let attempt = 1; attempt <= ATTEMPTS; attempt += 1) {
    const around = await surroundingsOf(session, source, place);
    if (around === undefined) continue;
    const broken = await missingAt(place, around);
    const missing = await placeLast(source, Math.max(place.stretch.to, around.storedUntil), broken);
    if (missing?.length === 0) return unreachedBlocks(session, place.stretch, around);
    if (missing !== undefined) return toFindings(place, around, missing);
  }
  const within = await surroundingsWithin(session, source, place.stretch);
  if (within === undefined) return [open(place.stretch)];
  const closed = { ...place, stretch: { ...place.stretch, to: within.closesAt } };
  const missing = await missingAt(closed, within);
  return [...toFindings(closed, within, missing), open({ from: within.closesAt, to: place.stretch.to })];
}

/**
 * Every link above the highest broken one holds, so what lies there is proved; below it a branch may hang loose that no
 * link names, so nothing is said about it until the hole is filled.
 */
function toFindings(
  { stretch, covered }: Place,
  around: Surroundings,
  missing: readonly Missing[],
): Finding[] {
  if (missing.length === 0) return [];
  const findings = missing.map((row): Finding => {
    const hole = { from: row.lower ?? stretch.from, to: row.child_at + 1 };
    return {
      check: CHECK,
      dataset: CHECK,
      scope: '',
      kind: 'missing_block',
      count: 1,
      spans: common([hole], [{ from: covered.from, to: covered.to }]),
      example: `${blockKey(row)}, the parent of ${row.child} of ${formatTime(row.child_at)}`,
      outcome: row.known ? 'known' : 'hole',
      rows: common([hole], [covered]).map((span) => ({ key: blockKey(row), span })),
    };
  });
  const highest = Math.max(...missing.map(({ child_at }) => child_at)) + 1;
  const proved = { from: Math.min(highest, stretch.to), to: Math.min(stretch.to, around.closesAt) };
  return [...sumUp(findings), ...without([stretch], [proved]).map(open)];
}

/** Findings of one outcome as one. */
function sumUp(findings: readonly Finding[]): Finding[] {
  const byOutcome = new Map<string, Finding>();
  for (const finding of findings) {
    const same = byOutcome.get(finding.outcome);
    byOutcome.set(
      finding.outcome,
      same === undefined
        ? finding
        : {
            ...same,
            count: same.count + 1,
            spans: [...same.spans, ...finding.spans],
            rows: [...same.rows, ...finding.rows],
          },
    );
  }
  return [...byOutcome.values()];
}

function open(span: Range): Finding {
  return {
    check: CHECK,
    dataset: CHECK,
    scope: '',
    kind: 'not_closed',
    count: 1,
    outcome: 'open',
    rows: [],
    spans: span.from < span.to ? [span] : [],
    example: `no unbroken chain of blocks leads to ${formatTime(span.from)} .. ${formatTime(span.to)} from above`,
  };
}

/** A block whose links are gone ends every chain that comes to it, so that nothing below it would be missed. */
function findParentless(session: Session, stretch: Range): Promise<Finding[]> {
  return findingsOf(session, {
    check: CHECK,
    dataset: CHECK,
    query: sql`
      select 'missing_link' as kind, 'hole' as outcome, b.workchain || ':' || b.shard || ':' || b.seqno as id,
        ${secondOf('b')} as span
      from ton.blocks b
      left join (select utime, workchain, shard, seqno, count(*) as links from ton.block_parents p
        where ${during('p', stretch)} group by 1, 2, 3, 4) p using (utime, workchain, shard, seqno)
      where ${during('b', stretch)} and coalesce(p.links, 0) < case when b.after_merge then 2 else 1 end`,
  });
}
