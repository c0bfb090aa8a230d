import { formatTable } from '../../src/commands/table.ts';
import { KINDS } from './kinds.ts';
import { proveSeed, type Outcome } from './prove-seed.ts';
import { startStores } from './stores.ts';

/**
 * Crawls a network a seed whose responses go wrong in one way, and prints the result of each way; true if all
 * is well.
 */
export async function proveSeeds(first: number, count: number): Promise<boolean> {
  const kinds = Object.keys(KINDS);
  const outcomes: Outcome[] = [];
  const stores = await startStores();
  try {
    for (let seed = first; seed < first + count; seed += 1) {
      const store = await stores.create();
      const kind = kinds[seed % kinds.length] ?? '';
      const outcome = await proveSeed(store, seed, kind).finally(() => store.close());
      outcomes.push(outcome);
      if (isFailure(outcome)) console.log(JSON.stringify(outcome));
    }
  } finally {
    await stores.stop();
  }
  console.log(summary(kinds, outcomes));
  const failed = outcomes.filter(isFailure);
  console.log(`${outcomes.length} networks, ${failed.length} failures`);
  return failed.length === 0;
}

function isFailure({ found, healed, falselyVerified }: Outcome): boolean {
  return !found || !healed || falselyVerified > 0;
}

function summary(kinds: readonly string[], all: readonly Outcome[]): string {
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
