import { parseAddress, formatAddress } from '../../src/ton/address.ts';
import { actionTypes } from '../../jobs/actions.ts';
import type { TransactionJson } from '../../src/simulator/json/transaction-json.ts';
import type { TraceNodeJson } from '../../src/simulator/json/trace-json.ts';
import { holders, jettonMovements, ledger } from '../../test/support/books/books-of-accounts.ts';
import { ownersOf } from '../../test/support/books/books-of-items.ts';
import {
  deliveries,
  feesByPart,
  groupBy,
  phases,
  shardOf,
  sum,
  wayOfFailing,
} from '../../test/support/books/facts.ts';
import { assetsOf, isSwap } from '../../test/support/books/books-of-exchanges.ts';
import { at, compare, ton, type Answer } from './answer.ts';

const START = Date.UTC(2026, 0, 1) / 1000;
const ONE = START + 3600;

const bool = (value: unknown) => (value === true ? 't' : 'f');

function nodes(node: TraceNodeJson, depth = 0): { hash: string; depth: number }[] {
  return [
    { hash: node.tx_hash, depth },
    ...(node.children ?? []).flatMap((child) => nodes(child, depth + 1)),
  ];
}

function describeNode(transaction: TransactionJson, depth: number) {
  const { account, in_msg: message } = transaction;
  const aborted = phases(transaction).aborted ?? false;
  const words = [
    `${account.slice(0, 10)}…${account.slice(-4)}`,
    message?.decoded_opcode ?? message?.opcode,
    message?.value == null ? null : `${ton(BigInt(message.value))} TON`,
    aborted ? 'aborted' : null,
  ].filter((word) => word != null);
  const tree = '  '.repeat(depth) + words.join(' ');
  return { depth, tree, value: message?.value ?? null, aborted: bool(aborted) };
}

const ITEM = '0:94667CBB24CBB0C6DCA708F5101824775DF8DB8FA67C15F130887F448A23E590';

/** The network's own answer to each question about transactions, jettons and items, by its title. */
export const answers: Readonly<Record<string, Answer>> = {
  'How busy was each hour?': ({ transactions }) =>
    [...groupBy(transactions, ({ now }) => String(now - (now % 3600)))].map(([hour, all]) => ({
      hour: at(Number(hour)),
      transactions: all.length,
      accounts: new Set(all.map(({ account }) => account)).size,
      fees_ton: ton(sum(all.map(({ total_fees }) => total_fees))),
    })),

  'Which accounts had the most transactions?': ({ transactions }) =>
    [...groupBy(transactions, ({ account }) => account)]
      .sort(([x, a], [y, b]) => b.length - a.length || compare(x, y))
      .slice(0, 5)
      .map(([account, all]) => ({
        account: formatAddress(account),
        transactions: all.length,
        aborted: all.filter((each) => phases(each).aborted).length,
      })),

  'How do transactions fail?': ({ transactions }) =>
    [
      ...groupBy(
        transactions.filter((each) => phases(each).aborted),
        (each) => JSON.stringify(wayOfFailing(each)),
      ).values(),
    ]
      .map((all) => ({
        ...wayOfFailing(all[0]!),
        transactions: all.length,
        bounced: all.filter((each) => phases(each).bounce?.type === 'ok').length,
        fees_ton: ton(sum(all.map(({ total_fees }) => total_fees))),
      }))
      .sort(
        (a, b) =>
          b.transactions - a.transactions ||
          compare(a.phase, b.phase) ||
          compare(a.reason ?? '~', b.reason ?? '~') ||
          Number(a.code) - Number(b.code),
      )
      .slice(0, 8),

  'What did the fees pay for?': ({ transactions }) => [
    Object.fromEntries(Object.entries(feesByPart(transactions)).map(([part, fees]) => [part, ton(fees)])),
  ],

  'Which contracts used the most gas?': ({ transactions }) =>
    [
      ...groupBy(
        transactions.filter((each) => phases(each).compute_ph?.gas_used !== undefined),
        ({ account }) => account,
      ),
    ]
      .map(([account, all]) => ({
        account,
        runs: all.length,
        failed: all.filter((each) => phases(each).compute_ph?.success === false).length,
        gas_used: sum(all.map((each) => phases(each).compute_ph?.gas_used)),
      }))
      .sort((a, b) => compare(b.gas_used, a.gas_used) || compare(a.account, b.account))
      .slice(0, 5),

  'What happened on one account?': ({ truth, span }) =>
    ledger(truth, span)
      .filter(({ account, utime }) => account === ACCOUNT && utime >= ONE && utime < ONE + 3600)
      .sort(
        (a, b) => a.utime - b.utime || compare(a.lt, b.lt) || compare(a.jetton, b.jetton) || a.step - b.step,
      )
      .slice(0, 50)
      .map(({ utime, kind, jetton, amount, balance }) => ({
        utime: at(utime),
        kind,
        jetton_master: jetton === '' ? null : jetton,
        amount,
        balance,
      })),

  'Which messages came back?': ({ truth }) =>
    [...truth.messages({ from: ONE, to: ONE + 3600 })]
      .filter(({ bounced }) => bounced === true)
      .sort((a, b) => compare(BigInt(b.value ?? 0), BigInt(a.value ?? 0)))
      .slice(0, 10)
      .map(({ created_at, source, destination, value }) => ({
        utime: at(Number(created_at)),
        source,
        destination,
        ton: ton(BigInt(value ?? 0)),
      })),

  'What does one trace look like?': ({ truth, span }) => {
    const trace = [...truth.traces(span)].find(({ trace_id }) => trace_id === TRACE)!;
    return nodes(trace.trace).map(({ hash, depth }) => describeNode(trace.transactions[hash]!, depth));
  },

  'Who held a jetton at one in the morning?': ({ truth }) =>
    holders(truth, { from: START, to: ONE }, JETTON).slice(0, 10),

  'Which jettons moved most?': ({ truth, span }) =>
    [...groupBy(jettonMovements(truth, span), ({ jetton }) => jetton)]
      .map(([jetton_master, all]) => {
        const of = (kind: string) => all.filter((each) => each.kind === kind);
        return {
          jetton_master,
          transfers: of('sent').length,
          senders: new Set(of('sent').map(({ account }) => account)).size,
          amount: sum(of('received').map(({ amount }) => amount)),
          minted: sum(of('minted').map(({ amount }) => amount)),
          burned: -sum(of('burned').map(({ amount }) => amount)),
        };
      })
      .sort((a, b) => b.transfers - a.transfers || compare(a.jetton_master, b.jetton_master))
      .slice(0, 10),

  'What was swapped on which exchange?': ({ truth, span }) => {
    const swaps = [...truth.actions(span, actionTypes)]
      .filter(isSwap)
      .filter(({ success }) => success === true)
      .map(({ details }) => ({ ...details, asset: assetsOf(details).in }));
    return [...groupBy(swaps, ({ dex }) => dex)].map(([dex, all]) => ({
      dex,
      swaps: all.length,
      people: new Set(all.map(({ sender }) => sender)).size,
      assets: new Set(all.map(({ asset }) => asset).filter((asset) => asset !== null)).size,
    }));
  },

  'Who owned this item, and when?': ({ truth, span }) =>
    ownersOf(truth, span)
      .filter(({ nft_address }) => nft_address === ITEM)
      .map(({ owner, since, until, kind }) => ({ owner, since: at(since), until: at(until), kind })),

  'How long do messages take?': ({ transactions }) =>
    [...groupBy(deliveries(transactions), ({ from, to }) => bool(shardOf(from) === shardOf(to)))].map(
      ([same_shard, all]) => ({
        same_shard,
        messages: all.length,
        longest_seconds: Math.max(...all.map(({ seconds }) => seconds)),
      }),
    ),

  'Who staked the most for an election?': ({ truth, spanOf }) => {
    const stakes = [...truth.validatorEvents(spanOf('validator_events'))].filter(
      ({ election_id }) => election_id === 1767229200,
    );
    return [...groupBy(stakes, ({ stake_holder_address }) => stake_holder_address)]
      .map(([stake_holder_address, all]) => {
        const accepted = all.filter(({ type }) => type === 'stake_accepted');
        return {
          stake_holder_address,
          stake: sum(accepted.map(({ amount }) => amount)),
          accepted: accepted.length,
          rejected: all.length - accepted.length,
        };
      })
      .sort((a, b) => compare(b.stake, a.stake) || compare(a.stake_holder_address, b.stake_holder_address))
      .slice(0, 5)
      .map(({ stake, ...rest }) => ({ ...rest, ton: ton(stake) }));
  },

  'Which complaints passed?': ({ truth, spanOf }) =>
    truth
      .validatorComplaints(spanOf('validator_complaints'))
      .filter(({ election_id }) => election_id === 1767225600)
      .map(({ complaint_hash, is_passed, voted_validators }) => ({
        complaint_hash,
        is_passed: bool(is_passed),
        votes: voted_validators.length,
        weight: sum(voted_validators.map(({ weight }) => weight)),
      })),
};

const ACCOUNT = '0:03027D71E3A7DA841E92E9863470F03115B8E3534533944807C95ED0E2A3639A';
const TRACE = 'HQBxH8LBGFaqzXPaVvB0ZCr1I77ZzcwSkl02miXhLJo=';
const JETTON = parseAddress('EQD1oABJeQ1jq4ogH2xYJGgKSbvHCh7xElB_T2YL7ePEibxr');
