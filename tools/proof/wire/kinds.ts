import type { Dataset } from '../../../src/dataset/dataset.ts';
import { listOf } from './list-of.ts';
import { BREAKAGES, type Breakage } from './bytes.ts';
import { FORMS, PLACED, type Form } from './forms.ts';
import { leavesOf } from './leaves.ts';
import { LISTINGS, type Listing } from './lists.ts';

/** One way in which one response of one endpoint goes wrong. */
export interface Kind {
  /** `/api/v3/blocks: wrong workchain` */
  readonly name: string;
  readonly dataset: string;
  readonly path: string;
  /** The member of the response that holds its records. */
  readonly list: string;
  readonly way: { readonly form: Form } | { readonly listing: Listing } | { readonly breakage: Breakage };
}

/** Whatever a value is, one of these differs from it. */
const OTHERS = [0, 1];

/** Every way that fits the responses of a network; `samples`: the text of a response, by path. */
export function kindsOf(datasets: readonly Dataset[], samples: ReadonlyMap<string, string>): Kind[] {
  return datasets.flatMap(({ name: dataset, job: { path, list } }) => {
    const sample = samples.get(path);
    const records = sample === undefined ? [] : listOf(sample, list);
    if (records.length === 0) return [];
    const kind = (name: string, way: Kind['way']): Kind => ({
      name: `${path}: ${name}`,
      dataset,
      path,
      list,
      way,
    });
    const leaves = records.slice(0, 8).flatMap(leavesOf);
    const fits = ({ fits: test }: Form) => leaves.some((leaf) => test({ ...leaf, others: [...OTHERS] }));
    const placed = PLACED.filter(({ endpoint }) => endpoint === path);
    return [
      ...[...placed, ...FORMS].filter(fits).map((form) => kind(form.name, { form })),
      ...LISTINGS.map((listing) => kind(listing.name, { listing })),
      ...BREAKAGES.map((breakage) => kind(breakage.name, { breakage })),
    ];
  });
}
