import type { TransactionJson } from '../../../src/simulator/json/transaction-json.ts';
import type { Range } from '../../../src/range.ts';
import type { Truth } from '../simulator/truth.ts';
import { phases } from './facts.ts';

/** One movement of money, as in ton.account_ledger; the jetton is empty for coins. */
export interface Movement {
  readonly account: string;
  readonly utime: number;
  readonly lt: bigint;
  readonly step: number;
  readonly jetton: string;
  readonly kind: string;
  readonly amount: bigint;
  readonly counterparty: string | null;
  readonly txHash: string | null;
}

export interface Entry extends Movement {
  readonly balance: bigint;
}

/** Every change of an owner's jettons: transfers, burns and mints. */
export function jettonMovements(truth: Truth, span: Range): Movement[] {
  const found: Movement[] = [];
  const refused = refusedTransfers(truth);
  for (const each of truth.jettonTransfers(span)) {
    if (refused.has(each.transaction_hash)) continue;
    const { source, destination, jetton_master: jetton, transaction_hash: txHash } = each;
    const at = { utime: each.transaction_now, lt: BigInt(each.transaction_lt), jetton, txHash };
    const amount = BigInt(each.amount);
    found.push(
      { ...at, account: source, step: 0, kind: 'sent', amount: -amount, counterparty: destination },
      { ...at, account: destination, step: 1, kind: 'received', amount, counterparty: source },
    );
  }
  for (const each of truth.jettonBurns(span)) {
    if (each.transaction_aborted) continue;
    const { owner: account, jetton_master: jetton, transaction_hash: txHash } = each;
    const at = { utime: each.transaction_now, lt: BigInt(each.transaction_lt), step: 0, txHash };
    found.push({
      ...at,
      account,
      jetton,
      kind: 'burned',
      amount: -BigInt(each.amount),
      counterparty: null,
    });
  }
  return [...found, ...mints(truth, span)];
}

/** Transactions of transfers whose jettons the receiving wallet refused. */
export function refusedTransfers(truth: Truth): ReadonlySet<string | undefined> {
  const senders = new Map([...truth.messages()].map(({ hash, out_msg_tx_hash: sender }) => [hash, sender]));
  return new Set(
    [...truth.transactions()]
      .filter((each) => each.in_msg?.opcode === '0x178d4519' && phases(each).aborted)
      .map(({ in_msg }) => senders.get(in_msg?.hash ?? '')),
  );
}

/** Jettons that a master sent to a wallet that accepted them, whatever the classifier says. */
function mints(truth: Truth, span: Range): Movement[] {
  const wallets = new Map(
    truth
      .entities()
      .jettonWallets()
      .map((each) => [each.address, each]),
  );
  const refused = new Set(
    [...truth.transactions()].filter((each) => phases(each).aborted).map(({ in_msg }) => in_msg?.hash),
  );
  return [...truth.messages(span)].flatMap((message): Movement[] => {
    const wallet = wallets.get(message.destination ?? '');
    const isMint = message.opcode === '0x178d4519' && wallet?.jetton === message.source;
    if (wallet === undefined || !isMint || refused.has(message.hash)) return [];
    const { amount } = message.message_content.decoded as { amount: { value: string } };
    return [
      {
        account: wallet.owner,
        jetton: wallet.jetton,
        utime: Number(message.created_at),
        lt: BigInt(message.created_lt ?? 0),
        step: 2,
        kind: 'minted',
        amount: BigInt(amount.value),
        counterparty: null,
        txHash: message.out_msg_tx_hash ?? null,
      },
    ];
  });
}

/** Every movement of coins of one transaction, in order. Each has a balance; the last one is the chain's own. */
function coinEntries(transaction: TransactionJson): Entry[] {
  const { account, now: utime, in_msg: received, out_msgs: sent } = transaction;
  const parts: { kind: string; amount: bigint; counterparty: string | null; step?: number }[] = [
    {
      kind: 'received',
      amount: BigInt(received?.value ?? 0),
      counterparty: received?.source ?? null,
      step: 0,
    },
    { kind: 'fees', amount: -BigInt(transaction.total_fees), counterparty: null, step: 1 },
  ];
  for (const { value, fwd_fee, ihr_fee, destination } of sent) {
    parts.push(
      { kind: 'sent', amount: -BigInt(value ?? 0), counterparty: destination },
      { kind: 'forward fees', amount: -BigInt(fwd_fee ?? 0) - BigInt(ihr_fee ?? 0), counterparty: null },
    );
  }
  let balance = BigInt(transaction.account_state_before.balance ?? 0);
  let lastStep = 1;
  return parts
    .filter(({ amount }) => amount !== 0n)
    .map(({ step, ...part }) => {
      balance += part.amount;
      const at = { account, utime, lt: BigInt(transaction.lt), step: step ?? (lastStep += 1) };
      return { ...at, jetton: '', ...part, txHash: transaction.hash, balance };
    });
}

const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);

/** The order of an account's ledger: by jetton, then by time. */
export function inOrder(a: Movement, b: Movement): number {
  return (
    compare(a.account, b.account) ||
    compare(a.jetton, b.jetton) ||
    a.utime - b.utime ||
    Number(a.lt - b.lt) ||
    a.step - b.step ||
    compare(a.txHash ?? '~', b.txHash ?? '~')
  );
}

/** The ledgers of all accounts: coins and jettons with the balance after each movement. */
export function ledger(truth: Truth, span: Range): Entry[] {
  const coins = [...truth.transactions(span)].flatMap(coinEntries);
  const balances = new Map<string, bigint>();
  const jettons = jettonMovements(truth, span)
    .sort(inOrder)
    .map((movement) => {
      const key = `${movement.account} ${movement.jetton}`;
      const balance = (balances.get(key) ?? 0n) + movement.amount;
      balances.set(key, balance);
      return { ...movement, balance };
    });
  return [...coins, ...jettons].sort(inOrder);
}

/** The holders of a jetton before a moment, richest first. */
export function holders(truth: Truth, span: Range, jetton: string): { owner: string; balance: string }[] {
  const balances = new Map<string, bigint>();
  for (const movement of jettonMovements(truth, span))
    if (movement.jetton === jetton)
      balances.set(movement.account, (balances.get(movement.account) ?? 0n) + movement.amount);
  return [...balances]
    .filter(([, balance]) => balance !== 0n)
    .sort(([a, x], [b, y]) => Number(y > x) - Number(x > y) || compare(a, b))
    .map(([owner, balance]) => ({ owner, balance: String(balance) }));
}
