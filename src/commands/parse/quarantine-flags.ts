import { chooseDatasets } from '../../dataset/dataset.ts';
import { loadDatasets } from '../../dataset/load-jobs.ts';
import type { Chosen } from '../../db/read/quarantined.ts';

export interface QuarantineFlags {
  readonly only?: readonly string[];
  readonly json?: boolean;
  readonly again?: boolean;
}

/** Which records are meant: no number means all, no dataset any. */
export async function parseChosen(ids: readonly number[], { only }: QuarantineFlags): Promise<Chosen> {
  const datasets =
    only === undefined ? undefined : chooseDatasets(only, await loadDatasets()).map(({ name }) => name);
  return { ids: ids.length === 0 ? undefined : ids, datasets };
}
