import type { ValidatorEventJson } from '../../../src/simulator/network/staking/validator-event.ts';
import { groupBy } from './facts.ts';

interface Income {
  readonly election_id: number;
  readonly stake_holder_address: string;
  readonly elections: number;
  readonly stake: bigint;
  readonly returned: bigint | null;
  readonly reward: bigint | null;
  readonly returned_at: number | null;
}

/** The rows of ton.validator_income for events, which ascend in time. */
export function incomes(events: readonly ValidatorEventJson[]): Income[] {
  const elections = [
    ...new Set(
      events.flatMap(({ type, election_id = 0 }) => (type === 'stake_accepted' ? [election_id] : [])),
    ),
  ];
  return [...groupBy(events, ({ stake_holder_address }) => stake_holder_address)].flatMap(([holder, own]) =>
    incomesOf(holder, own, elections),
  );
}

function incomesOf(
  holder: string,
  events: readonly ValidatorEventJson[],
  elections: readonly number[],
): Income[] {
  const open = new Map<number, bigint>();
  const settled: Income[] = [];
  for (const { type, election_id = 0, utime, amount } of events) {
    if (type === 'stake_accepted') open.set(election_id, (open.get(election_id) ?? 0n) + BigInt(amount));
    if (type !== 'stake_recovered') continue;
    const due = [...open].filter(([id]) => elections.some((other) => other > id && other <= utime));
    for (const [id] of due) open.delete(id);
    if (due.length > 0) settled.push({ ...together(holder, due), ...giving(BigInt(amount), due, utime) });
  }
  const left = [...open].map((stake) => ({
    ...together(holder, [stake]),
    returned: null,
    reward: null,
    returned_at: null,
  }));
  return [...settled, ...left];
}

type Stakes = readonly (readonly [number, bigint])[];

const total = (stakes: Stakes): bigint => stakes.reduce((all, [, stake]) => all + stake, 0n);

const together = (stake_holder_address: string, stakes: Stakes) => ({
  election_id: Math.max(...stakes.map(([id]) => id)),
  stake_holder_address,
  elections: stakes.length,
  stake: total(stakes),
});

const giving = (returned: bigint, stakes: Stakes, returned_at: number) => ({
  returned,
  reward: returned - total(stakes),
  returned_at,
});
