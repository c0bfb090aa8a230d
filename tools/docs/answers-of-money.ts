import { incomes } from '../../test/support/books/books-of-validators.ts';
import { tonVolumes } from '../../test/support/books/books-of-exchanges.ts';
import { dayOf, groupBy } from '../../test/support/books/facts.ts';
import { compare, ton, type Answer } from './answer.ts';

/** The network's own answer to each question about markets, wallets and validators, by its title. */
export const answersOfMoney: Readonly<Record<string, Answer>> = {
  'How much was traded for TON, and where?': ({ truth, span }) =>
    tonVolumes(truth, span)
      .sort(
        (a, b) =>
          compare(b.volume, a.volume) ||
          compare(a.dex, b.dex) ||
          compare(a.pool, b.pool) ||
          compare(a.jetton_master, b.jetton_master),
      )
      .slice(0, 10)
      .map(({ dex, pool, jetton_master, swaps, accounts, volume }) => ({
        dex,
        pool,
        jetton_master,
        swaps,
        accounts,
        volume_ton: ton(volume),
      })),

  'How many wallets were used each day?': ({ transactions }) => {
    const called = transactions.filter(({ in_msg }) => in_msg !== null && in_msg.source === null);
    return [...groupBy(called, ({ now }) => dayOf(now))].map(([day, all]) => ({
      day,
      wallets: new Set(all.map(({ account }) => account)).size,
      messages: all.length,
    }));
  },

  'What did validators earn?': ({ truth, spanOf }) =>
    incomes([...truth.validatorEvents(spanOf('validator_events'))])
      .filter(({ returned }) => returned !== null)
      .sort(
        (a, b) =>
          b.election_id - a.election_id ||
          compare(b.reward ?? 0n, a.reward ?? 0n) ||
          compare(a.stake_holder_address, b.stake_holder_address),
      )
      .slice(0, 10)
      .map(({ election_id, stake_holder_address, stake, reward }) => ({
        election_id,
        stake_holder_address,
        stake_ton: ton(stake),
        reward_ton: ton(reward ?? 0n),
      })),
};
