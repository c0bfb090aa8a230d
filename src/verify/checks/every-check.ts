import type { Checks } from '../../dataset/checks.ts';
import type { Job } from '../../dataset/job.ts';
import { blockSeconds } from './block-seconds.ts';
import type { Check } from './check.ts';
import { actions } from './check-actions.ts';
import { blocks } from './check-blocks.ts';
import { messages } from './check-messages.ts';
import { quarantine } from './check-quarantine.ts';
import { traces } from './check-traces.ts';
import { transactions } from './check-transactions.ts';
import { crossChecks } from './cross-checks.ts';
import { sealCheck } from './seal.ts';
import { secondReading } from './second-reading.ts';
import { stateChain } from './state-chain.ts';
import { unchecked } from './unchecked.ts';

/** The checks that a dataset can declare, by name, in the order in which they run. */
const DECLARED: Readonly<Record<keyof Checks, Check>> = {
  blocks,
  'block-seconds': blockSeconds,
  transactions,
  messages,
  'state-chain': stateChain,
  traces,
  'cross-checks': crossChecks,
  actions,
  'second-reading': secondReading,
};

/** The checks of a dataset: those of every dataset, then those that it declares. */
export function checksOf({ checks }: Job): readonly Check[] {
  const declared = Object.values(DECLARED).filter(({ name }) => Object.hasOwn(checks, name));
  return [quarantine, sealCheck, ...(declared.length > 0 ? declared : [unchecked])];
}
