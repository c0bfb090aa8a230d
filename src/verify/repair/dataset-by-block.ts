import type { Dataset } from '../../dataset/dataset.ts';
import { byBlock } from '../../dataset/paginators/by-block.ts';
import type { Session } from '../../db/connection/database.ts';
import { registeringBlocks } from '../../db/read/registering-blocks.ts';
import type { Range } from '../../range.ts';
import { isInside } from '../../range.ts';

/** A hole of so many masterchain blocks, a request each, is no longer one that a last resort is for. */
const MOST_BLOCKS = 200;

/** Holes that can be asked for by masterchain block, and the dataset that does so. */
interface HolesByBlock {
  readonly dataset: Dataset;
  readonly holes: readonly Range[];
}

/** Undefined where the source gives no records by block, or nobody knows the blocks. */
export async function datasetByBlock(
  session: Session,
  { name, job }: Dataset,
  holes: readonly Range[],
): Promise<HolesByBlock | undefined> {
  if (job.byBlock === undefined) return undefined;
  const known: { readonly hole: Range; readonly seqnos: readonly number[] }[] = [];
  for (const hole of holes) {
    const seqnos = await registeringBlocks(session, hole);
    if (seqnos.length > 0 && seqnos.length <= MOST_BLOCKS) known.push({ hole, seqnos });
  }
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
