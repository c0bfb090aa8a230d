import type { Checks } from '../dataset/checks.ts';
import type { Job } from '../dataset/job.ts';
import type { Check } from './check.ts';
import { actions } from './checks/actions.ts';
import { blockSeconds } from './checks/block-seconds.ts';
import { blocks } from './checks/blocks.ts';
import { crossChecks } from './checks/cross-checks.ts';
import { messages } from './checks/messages.ts';
import { quarantine } from './checks/quarantine.ts';
import { sealCheck } from './checks/seal.ts';
import { secondReading } from './checks/second-reading.ts';
import { stateChain } from './checks/state-chain.ts';
import { traces } from './checks/traces.ts';
import { transactions } from './checks/transactions.ts';
import { unchecked } from './checks/unchecked.ts';

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
