import { sql } from 'drizzle-orm';
import { block_parents } from '../../db/schema/ton/blocks.ts';
import type { Session } from '../../db/connection/database.ts';
import { common, formatTime, spanOfSecond, without, type Range } from '../../range.ts';
import { blockKey } from '../../ton/block-key.ts';
import type { Check, CheckLook, Result, VerifyContext } from '../check.ts';
import { type Around, missingParents, type Missing } from '../closure/missing-parents.ts';
import { DOUBLED, unfitLinks, unreachedBlocks } from '../closure/surplus-blocks.ts';
import { placeFirst, placeLast } from '../closure/place-missing.ts';
import {
  blocksBefore,
  surroundingsOf,
  surroundingsWithin,
  type CoveredStretch,
  type Surroundings,
} from '../closure/surroundings.ts';
import { findingsOf, spansOf, type Finding } from '../finding.ts';
import { joinByHash } from '../run/at-speed.ts';
import { countRows } from '../../db/read/table-rows.ts';
import { blockKeyOf } from '../block-key-of.ts';
import { during, secondOf } from '../../db/connection/seconds.ts';

const CHECK = 'blocks';
const ATTEMPTS = 3;

export const blocks: Check = {
  name: CHECK,
  needs: [],
  steps: (context, { covered, coverage }) =>
    covered.map((stretch) => {
      const around = coverage.find(({ from, to }) => from <= stretch.from && to >= stretch.to) ?? stretch;
      return {
        check: CHECK,
        stretch,
        run: (look) => checkBlocks(look, context, { stretch, covered: around }),
      };
    }),
};

/**
 * The closure: from tops at or after the stretch's end everything down by `prev_blocks` is stored, and every chain ends
 * in a block before the stretch, in seqno 0 or below the index' first block. Not walked but joined: if every top is
 * stored and every parent of every stored block is, then so is all that can be reached, by induction. And nothing else
 * is stored: every stored block is the parent of another one, or a top.
 */
async function checkBlocks(
  look: CheckLook,
  { database, source }: VerifyContext,
  place: CoveredStretch,
): Promise<Result> {
  const { stretch } = place;
  const facts = { before: await blocksBefore(source, place), first: source.chain.first };
  for (let attempt = 1; attempt <= ATTEMPTS; attempt += 1) {
    const around = await surroundingsOf(database, source, place);
    if (around === undefined) continue;
    const seen = await look((session) => lookAt(session, place, { ...around, ...facts }));
    const broken = await placeFirst(source, stretch, seen.missing);
    const missing = await placeLast(source, Math.max(stretch.to, around.storedUntil), broken);
    // What is known of the blocks after a stretch may itself be cut short: then it is asked for again.
    if (missing !== undefined)
      return { ...seen, findings: [...seen.findings, ...closureOf(place, around, { ...seen, missing })] };
  }
  const within = await surroundingsWithin(database, source, stretch);
  const seen = await look((session) => lookAt(session, place, within && { ...within, ...facts }));
  if (within === undefined) return { ...seen, findings: [...seen.findings, open(stretch)] };
  const missing = await placeFirst(source, stretch, seen.missing);
  const closed = { ...place, stretch: { ...stretch, to: within.closesAt } };
  const closure = closureOf(closed, within, { ...seen, missing });
  return {
    ...seen,
    findings: [...seen.findings, ...closure, open({ from: within.closesAt, to: stretch.to })],
  };
}

interface SeenBlocks extends Result {
  readonly missing: readonly Missing[];
  readonly unreached: readonly Finding[];
}

/** What the tables say of a stretch at one moment; of its closure only where something is known of what lies around it. */
async function lookAt(
  session: Session,
  place: CoveredStretch,
  around: Around | undefined,
): Promise<SeenBlocks> {
  const { stretch } = place;
  await joinByHash(session);
  const links = await countRows(session, block_parents, stretch);
  return {
    missing: around === undefined ? [] : await missingParents(session, place, around),
    unreached: around === undefined ? [] : await unreachedBlocks(session, stretch, around),
    findings: [...(await findMiscounted(session, stretch)), ...(await unfitLinks(session, stretch))],
    rows: links,
  };
}

/**
 * What lies above the highest fault is proved. Below it a branch may hang loose that no link names, or be reached by
 * nothing but a block that should not be there: nothing is said about it until the fault is repaired.
 */
function closureOf(
  { stretch, covered }: CoveredStretch,
  around: Surroundings,
  { missing, unreached, findings: links }: Pick<SeenBlocks, 'missing' | 'unreached' | 'findings'>,
): Finding[] {
  // A parent that only a surplus block names is not missing.
  const loose = spansOf(unreached);
  const named = missing.filter(({ child_at }) => common([spanOfSecond(child_at)], loose).length === 0);
  // Whether a parent that the source has forgotten lies within the stretch nobody can tell.
  const gaps = named
    .filter(({ registered }) => registered !== 'earlier')
    .map((row): Finding => {
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
  const closed = Math.min(stretch.to, around.closesAt);
  const linked = Math.max(stretch.from, ...named.map(({ child_at }) => child_at + 1));
  // The other copy of a doubled block may lie beyond the stretch: nobody knows which one is wrong.
  const surplus = unreached.flatMap((finding) =>
    finding.kind === DOUBLED ? [finding] : partOf(finding, { from: linked, to: closed }),
  );
  const faults = [...links, ...surplus].flatMap(({ spans }) => spans.map(({ to }) => to));
  const proved = { from: Math.min(Math.max(linked, ...faults), closed), to: closed };
  return [...sumUp(gaps), ...surplus, ...without([stretch], [proved]).map(open)];
}

/** What of a finding lies within a span. */
function partOf(finding: Finding, span: Range): Finding[] {
  const spans = common(finding.spans, [span]);
  const rows = finding.rows.filter((row) => common([row.span], spans).length > 0);
  const count = finding.rows.length < finding.count ? finding.count : rows.length;
  return spans.length === 0 ? [] : [{ ...finding, spans, rows, count }];
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

/**
 * A block whose links are gone ends every chain that comes to it, so that nothing below it would be missed. One that has
 * more than its parents leads to a block of another chain, or to the same twice.
 */
function findMiscounted(session: Session, stretch: Range): Promise<Finding[]> {
  return findingsOf(session, {
    check: CHECK,
    dataset: CHECK,
    query: sql`
      select case when s.surplus > 0 then 'surplus_link' else 'missing_link' end as kind,
        case when s.surplus > 0 then 'surplus' else 'hole' end as outcome, ${blockKeyOf('b')} as id,
        ${secondOf('b')} as span
      from ton.blocks b
      left join (select utime, workchain, shard, seqno, count(*) as links from ton.block_parents p
        where ${during('p', stretch)} group by 1, 2, 3, 4) p using (utime, workchain, shard, seqno)
      cross join lateral (select coalesce(p.links, 0) - case when b.after_merge then 2 else 1 end as surplus) s
      where ${during('b', stretch)} and s.surplus <> 0`,
  });
}
