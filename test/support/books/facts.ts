import type { TransactionJson } from '../../../src/simulator/json/transaction-json.ts';

/** The members of a transaction's phases that reports need, as the simulator prints them. */
export interface Phases {
  readonly aborted?: boolean;
  readonly storage_ph?: { readonly storage_fees_collected: string };
  readonly credit_ph?: { readonly due_fees_collected?: string };
  readonly compute_ph?: {
    readonly skipped: boolean;
    readonly reason?: string;
    readonly success?: boolean;
    readonly exit_code?: number;
    readonly gas_fees?: string;
    readonly gas_used?: string;
  };
  readonly action?: {
    readonly success: boolean;
    readonly result_code: number;
    readonly total_action_fees?: string;
  };
  readonly bounce?: { readonly type?: string; readonly msg_fees?: string };
}

export const phases = ({ description }: TransactionJson): Phases => description as Phases;

/** The day of a second, UTC. */
export const dayOf = (utime: number): string => new Date(utime * 1000).toISOString().slice(0, 10);

export const sum = (values: Iterable<string | number | bigint | null | undefined>): bigint =>
  [...values].reduce((total: bigint, value) => total + BigInt(value ?? 0), 0n);

export function groupBy<T>(rows: Iterable<T>, keyOf: (row: T) => string): Map<string, T[]> {
  const groups = new Map<string, T[]>();
  for (const row of rows) {
    const group = groups.get(keyOf(row));
    if (group === undefined) groups.set(keyOf(row), [row]);
    else group.push(row);
  }
  return groups;
}

/** Members as Postgres prints them, and rows in an order that does not depend on their source. */
export function sorted(rows: readonly object[]): Readonly<Record<string, string | null>>[] {
  const texts = rows.map((row) =>
    Object.fromEntries(
      Object.entries(row).map(([name, value]: [string, unknown]) => [
        name,
        value === null || value === undefined ? null : String(value as string | number | bigint),
      ]),
    ),
  );
  const key = (row: object) => JSON.stringify(Object.entries(row).sort());
  return texts.sort((a, b) => (key(a) < key(b) ? -1 : 1));
}

/** How a transaction failed. */
export function wayOfFailing(transaction: TransactionJson) {
  const { compute_ph: compute, action } = phases(transaction);
  if (compute?.skipped === true) return { phase: 'skipped', reason: compute.reason, code: null };
  if (compute?.success === false) return { phase: 'compute', reason: null, code: compute.exit_code };
  return { phase: 'action', reason: null, code: action?.result_code };
}

/** What the fees of transactions paid for, in nanotons. */
export function feesByPart(transactions: readonly TransactionJson[]) {
  const of = (part: (each: Phases) => string | undefined) =>
    sum(transactions.map((each) => part(phases(each))));
  const parts = {
    storage:
      of((each) => each.storage_ph?.storage_fees_collected) +
      of((each) => each.credit_ph?.due_fees_collected),
    gas: of((each) => each.compute_ph?.gas_fees),
    action: of((each) => each.action?.total_action_fees),
    bounce: of((each) => each.bounce?.msg_fees),
  };
  const total = sum(transactions.map(({ total_fees }) => total_fees));
  return {
    ...parts,
    import: total - sum(Object.values(parts)),
    total,
    forward: sum(transactions.flatMap(({ out_msgs }) => out_msgs.map(({ fwd_fee }) => fwd_fee))),
  };
}

/** Every message that one transaction sent and another received, with both transactions. */
export function deliveries(
  transactions: readonly TransactionJson[],
): { readonly from: TransactionJson; readonly to: TransactionJson; readonly seconds: number }[] {
  const key = ({ hash, created_lt }: { hash: string; created_lt: string | null }) => `${hash} ${created_lt}`;
  const senders = new Map(
    transactions.flatMap((each) => each.out_msgs.map((message) => [key(message), each])),
  );
  return transactions.flatMap((to) => {
    const from = to.in_msg === null ? undefined : senders.get(key(to.in_msg));
    return from === undefined ? [] : [{ from, to, seconds: to.now - from.now }];
  });
}

export const shardOf = ({ block_ref }: TransactionJson): string =>
  `${block_ref.workchain} ${block_ref.shard}`;
