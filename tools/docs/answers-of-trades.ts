import { itemActions } from '../../test/support/books/books-of-items.ts';
import { parseAddress } from '../../src/ton/address.ts';
import type { TransactionJson } from '../../src/simulator/json/transaction-json.ts';
import { jettonMovements } from '../../test/support/books/books-of-accounts.ts';
import { decimalsOf, legsOf, rawPrice, tradedBy } from '../../test/support/books/books-of-trades.ts';
import { dayOf, groupBy, phases, sum } from '../../test/support/books/facts.ts';
import { at, compare, ton, type Answer } from './answer.ts';

const DAY = '2026-01-01';
const JETTON = parseAddress('EQD1oABJeQ1jq4ogH2xYJGgKSbvHCh7xElB_T2YL7ePEibxr');
const ACCOUNT = parseAddress('EQADAn1x46fahB6S6YY0cPAxFbjjU0UzlEgHyV7Q4qNjmkl-');

const queryOf = ({ in_msg }: TransactionJson): string | undefined =>
  (in_msg?.message_content.decoded as { query_id?: string } | null | undefined)?.query_id;

const byLt = (a: TransactionJson, b: TransactionJson) => compare(BigInt(a.lt), BigInt(b.lt));

/** The network's own answer to each question about the curated views, by its title. */
export const answersOfTrades: Readonly<Record<string, Answer>> = {
  'Who traded most?': ({ truth, span }) => {
    const trades = legsOf(truth, span).flatMap(({ utime, trader, sold, bought }) => {
      const side = sold.asset === 'TON' ? sold : bought.asset === 'TON' ? bought : undefined;
      return side === undefined || dayOf(utime) !== DAY ? [] : [{ trader, nanotons: side.text }];
    });
    return [...groupBy(trades, ({ trader }) => trader)]
      .map(([trader, all]) => ({
        trader,
        trades: all.length,
        volume: sum(all.map(({ nanotons }) => nanotons)),
      }))
      .sort((a, b) => compare(b.volume, a.volume) || compare(a.trader, b.trader))
      .slice(0, 10)
      .map(({ volume, ...rest }) => ({ ...rest, volume_ton: ton(volume) }));
  },

  'Which bots and apps trade?': ({ truth, span, transactions }) => {
    const byHash = new Map(transactions.map((each) => [each.hash, each]));
    const trades = legsOf(truth, span).flatMap(({ utime, trader, action, sold, bought }) => {
      const own = action.transactions.flatMap((hash) => byHash.get(hash) ?? []).sort(byLt);
      const query = own.map(queryOf).find((id) => id !== undefined);
      const side = sold.asset === 'TON' ? sold : bought.asset === 'TON' ? bought : undefined;
      if (query === undefined || side === undefined || dayOf(utime) !== DAY) return [];
      return [{ app: String(BigInt(query) >> 32n), trader, nanotons: side.text }];
    });
    return [...groupBy(trades, ({ app }) => app)]
      .map(([app, all]) => ({
        app,
        trades: all.length,
        traders: new Set(all.map(({ trader }) => trader)).size,
        volume_ton: ton(sum(all.map(({ nanotons }) => nanotons))),
      }))
      .sort((a, b) => b.trades - a.trades || compare(BigInt(a.app), BigInt(b.app)))
      .slice(0, 5);
  },

  'What did a jetton cost in each hour?': ({ truth, span }) => {
    const places = decimalsOf(truth.entities().jettonMasters()).get(JETTON) ?? 0;
    const hours = tradedBy(legsOf(truth, span), new Map(), ({ hour }) => String(hour));
    return [...hours].flatMap(([hour, assets]) => {
      const traded = assets.get(JETTON);
      if (traded === undefined || dayOf(Number(hour)) !== DAY) return [];
      return [
        {
          hour: at(Number(hour)),
          price_ton: ((rawPrice(traded, undefined) ?? 0) * 10 ** places).toFixed(6),
          volume_ton: traded.ton.toFixed(9),
          trades: traded.trades,
          traders: traded.traders.size,
        },
      ];
    });
  },

  'What happened to one jetton, with comments?': ({ truth, span }) =>
    [...truth.jettonTransfers(span)]
      .flatMap((each) => {
        const { comment } = (each.decoded_forward_payload ?? {}) as { comment?: string };
        return each.jetton_master === JETTON && comment !== undefined ? [{ ...each, comment }] : [];
      })
      .sort(
        (a, b) =>
          a.transaction_now - b.transaction_now ||
          compare(BigInt(a.transaction_lt), BigInt(b.transaction_lt)) ||
          compare(a.transaction_hash, b.transaction_hash),
      )
      .slice(0, 10)
      .map(({ transaction_now, source, destination, amount, comment }) => ({
        block_time: at(transaction_now),
        type: 'transfer',
        source,
        destination,
        amount_raw: amount,
        comment,
      })),

  'What were items sold for?': ({ truth, span }) => {
    const sales = itemActions(truth, span)
      .filter(({ type, action }) => type === 'sale' && action.success !== false)
      .filter(({ action }) => dayOf(action.trace_end_utime) === DAY)
      .map(({ details }) => details as { nft_collection: string; price: string });
    return [...groupBy(sales, ({ nft_collection }) => nft_collection)]
      .map(([collection_address, all]) => ({
        collection_address,
        sales: all.length,
        prices: all.map(({ price }) => BigInt(price)),
      }))
      .sort(
        (a, b) =>
          compare(sum(b.prices), sum(a.prices)) || compare(a.collection_address, b.collection_address),
      )
      .slice(0, 5)
      .map(({ prices, ...rest }) => ({
        ...rest,
        ton: ton(sum(prices)),
        highest: ton(prices.reduce((most, price) => (price > most ? price : most), 0n)),
      }));
  },

  'Who was deployed, by whom, and who paid first?': ({ transactions }) =>
    [...groupBy(transactions, ({ account }) => account)]
      .flatMap(([account, all]) => {
        const own = all.sort(byLt);
        const deployed = own.find(
          ({ orig_status, end_status }) =>
            orig_status !== 'active' && orig_status !== 'frozen' && end_status === 'active',
        );
        const funded = own.find(
          (each) =>
            each.in_msg?.source != null &&
            BigInt(each.in_msg.value ?? 0) > 0n &&
            each.in_msg.bounced !== true &&
            phases(each).bounce?.type !== 'ok',
        );
        if (deployed === undefined || dayOf(deployed.now) !== DAY) return [];
        const deployed_by = deployed.in_msg?.source;
        const first_funder = funded?.in_msg?.source;
        const deployed_at = at(deployed.now);
        return [{ account, deployed_at, deployed_by, first_funder, transactions: own.length }];
      })
      .sort((a, b) => b.transactions - a.transactions || compare(a.account, b.account))
      .slice(0, 5),

  'What did one account hold at the end of each day?': ({ truth, span, transactions }) => {
    const own = transactions.filter(({ account }) => account === ACCOUNT).sort(byLt);
    const coins = own.map(({ now, account_state_after: { balance } }) => ({
      day: dayOf(now),
      asset: 'TON',
      raw: balance,
    }));
    const held = new Map<string, bigint>();
    const jettons = jettonMovements(truth, span)
      .filter(({ account }) => account === ACCOUNT)
      .sort((a, b) => a.utime - b.utime || compare(a.lt, b.lt) || a.step - b.step)
      .map(({ utime, jetton, amount }) => {
        held.set(jetton, (held.get(jetton) ?? 0n) + amount);
        return { day: dayOf(utime), asset: jetton, raw: String(held.get(jetton)) };
      });
    // The network lasts for one day.
    const last = new Map([...coins, ...jettons].map((each) => [`${each.day} ${each.asset}`, each]));
    return [...last.values()].map(({ day, asset, raw }) => ({ day, asset, balance_raw: raw }));
  },
};
