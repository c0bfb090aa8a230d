import { parseArgs } from 'node:util';
import { formatTable } from '../../src/commands/output/table.ts';
import { KINDS } from './kinds.ts';
import { proveSeed, type Outcome } from './prove-seed.ts';
import { startStores } from './stores.ts';

/*
 * Crawls simulated networks whose answers go wrong, one way a network, and prints for each way how often it was
 * injected, found and healed, and what that cost. Fails where anything was not found, not healed, or verified though it
 * differs from the truth. `--seeds 300` networks; `--from` the first seed.
 */
const { values } = parseArgs({
  options: { seeds: { type: 'string', default: '60' }, from: { type: 'string', default: '1' } },
});
const first = Number(values.from);
const kinds = Object.keys(KINDS);
const outcomes: Outcome[] = [];
const stores = await startStores();
try {
  for (let seed = first; seed < first + Number(values.seeds); seed += 1) {
    const kind = kinds[seed % kinds.length] ?? '';
    const store = await stores.create();
    const outcome = await proveSeed(store, seed, kind).finally(() => store.close());
    outcomes.push(outcome);
    if (!outcome.found || !outcome.healed || outcome.falselyVerified > 0)
      console.log(JSON.stringify(outcome));
  }
} finally {
  await stores.stop();
}
console.log(summary(outcomes));
const failed = outcomes.filter(
  ({ found, healed, falselyVerified }) => !found || !healed || falselyVerified > 0,
);
console.log(`${outcomes.length} networks, ${failed.length} failures`);
process.exitCode = failed.length === 0 ? 0 : 1;

function summary(all: readonly Outcome[]): string {
  const header = [
    'kind',
    'networks',
    'injected',
    'no harm',
    'found',
    'healed',
    'falsely verified',
    'requests: crawl',
    'verify',
    'repair',
  ];
  return formatTable(
    header,
    kinds.map((kind) => {
      const own = all.filter((outcome) => outcome.kind === kind);
      const harmed = own.filter(({ injected }) => injected === 'yes');
      const sum = (list: readonly Outcome[], count: (outcome: Outcome) => number) =>
        String(list.reduce((total, outcome) => total + count(outcome), 0));
      return [
        kind,
        String(own.length),
        String(harmed.length),
        String(own.length - harmed.length),
        String(harmed.filter(({ found }) => found).length),
        String(harmed.filter(({ healed }) => healed).length),
        sum(own, ({ falselyVerified }) => falselyVerified),
        sum(own, ({ requests }) => requests[0]),
        sum(own, ({ requests }) => requests[1]),
        sum(own, ({ requests }) => requests[2]),
      ];
    }),
  );
}
