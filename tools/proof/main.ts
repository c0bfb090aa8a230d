import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { proveMatrix } from './matrix/prove-matrix.ts';
import { catchMutants } from './mutants.ts';
import { proveSeeds } from './seeds.ts';
import { proveWire } from './wire/prove-wire.ts';

/*
 * Shows what verification is worth. Each part fails if an error was not found, not healed, or verified.
 *
 *   npm run proof -- --seeds 300 --from 1                   networks whose responses go wrong, one way a network
 *   npm run proof -- --matrix [--tables traces,messages]    every column of every table, altered in a proved range
 *   npm run proof -- --matrix --cell "transactions.lt null" one cell of it
 *   npm run proof -- --wire --seeds 300                     responses altered on their way in, some kinds of it a seed
 *   npm run proof -- --wire --kind "/api/v3/blocks: null"   one kind of it
 *   npm run proof -- --mutants [--only "short page ends its window"]   bugs are put into copies: each must be caught
 *
 * Options of the matrix:
 *
 *   --share 0.1   a part that the seed chooses
 *   --seed N      the seed
 *   --at-once 2   processes
 *   --quick       leaves out a plain repair and a second reading
 *   --save        includes them, and writes all results to the repository
 */
const { values } = parseArgs({
  options: {
    seeds: { type: 'string', default: '60' },
    from: { type: 'string', default: '1' },
    mutants: { type: 'boolean', default: false },
    only: { type: 'string' },
    wire: { type: 'boolean', default: false },
    kind: { type: 'string' },
    matrix: { type: 'boolean', default: false },
    tables: { type: 'string' },
    cell: { type: 'string', multiple: true },
    share: { type: 'string', default: '1' },
    seed: { type: 'string', default: '1' },
    'at-once': { type: 'string', default: '1' },
    quick: { type: 'boolean', default: false },
    save: { type: 'boolean', default: false },
  },
});

const [first, seeds] = [Number(values.from), Number(values.seeds)];
process.exitCode = (await prove()) ? 0 : 1;

function prove(): Promise<boolean> {
  if (values.mutants) return catchMutants(join(import.meta.dirname, '../..'), values.only);
  if (values.wire) return proveWire({ first, seeds, kind: values.kind, atOnce: Number(values['at-once']) });
  if (!values.matrix) return proveSeeds(first, seeds);
  return proveMatrix({
    seed: Number(values.seed),
    tables: values.tables?.split(','),
    cells: values.cell,
    share: Number(values.share),
    whole: !values.quick || values.save,
    atOnce: Number(values['at-once']),
    save: values.save,
  });
}
