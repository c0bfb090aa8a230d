import type { Dataset } from '../../dataset/dataset.ts';
import { byBlock } from '../../dataset/paginators/by-block.ts';
import type { Session } from '../../db/connection/database.ts';
import { registeringBlocks } from '../../db/read/registering-blocks.ts';
import { isInside, type Range, without } from '../../range.ts';

/** A hole of so many masterchain blocks, a request each, is no longer one that a last resort is for. */
const MOST_BLOCKS = 200;
/** Holes of so many blocks together are joined no further: what lies between may have some of its own. */
const MOST_JOINED = MOST_BLOCKS / 2;

/** Holes that can be asked for by masterchain block, and the dataset that does so. */
interface HolesByBlock {
  readonly dataset: Dataset;
  readonly holes: readonly Range[];
}

interface KnownHole {
  readonly hole: Range;
  readonly seqnos: readonly number[];
}

/** Undefined where the source gives no records by block, or nobody knows the blocks. */
export async function datasetByBlock(
  session: Session,
  { name, job }: Dataset,
  holes: readonly Range[],
  coverage: readonly Range[],
): Promise<HolesByBlock | undefined> {
  if (job.byBlock === undefined || holes.length === 0) return undefined;
  const known = await joined(session, holes, coverage);
  if (known.length === 0) return undefined;
  const seqnosOf = ({ from }: Range) => known.find(({ hole }) => isInside(from, hole))?.seqnos ?? [];
  const { path, param } = job.byBlock;
  const params = path === job.path ? job.params : {};
  const paginator = byBlock(seqnosOf, { param, maxSize: job.paginator.maxSize });
  return {
    dataset: { name, job: { ...job, path, params, paginator } },
    holes: known.map(({ hole }) => hole),
  };
}

/**
 * Holes of whose blocks some are the same become one, with what is covered between them: each block is asked for once. What
 * lies between may bring more blocks, and those more holes.
 */
async function joined(
  session: Session,
  holes: readonly Range[],
  coverage: readonly Range[],
): Promise<KnownHole[]> {
  let spans = holes;
  for (;;) {
    const seqnos = await registeringBlocks(session, spans);
    const known = spans.map((hole, place): KnownHole => ({ hole, seqnos: seqnos[place] ?? [] }));
    const groups: KnownHole[] = [];
    for (const one of known.filter((hole) => isAskable(hole.seqnos))) {
      const last = groups.at(-1);
      if (last === undefined || !isOne(last, one, coverage)) groups.push(one);
      else
        groups[groups.length - 1] = {
          hole: { from: last.hole.from, to: one.hole.to },
          seqnos: [...new Set([...last.seqnos, ...one.seqnos])],
        };
    }
    if (groups.length === spans.length) return groups;
    spans = groups.map(({ hole }) => hole);
  }
}

function isAskable({ length }: readonly number[]): boolean {
  return length > 0 && length <= MOST_BLOCKS;
}

/** True of two holes, the earlier one first, that share a block, and between which nobody else has to read anything. */
function isOne(before: KnownHole, behind: KnownHole, coverage: readonly Range[]): boolean {
  const between = { from: before.hole.to, to: behind.hole.from };
  return (
    before.seqnos.some((seqno) => behind.seqnos.includes(seqno)) &&
    new Set([...before.seqnos, ...behind.seqnos]).size <= MOST_JOINED &&
    without([between], coverage).length === 0
  );
}
