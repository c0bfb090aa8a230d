import { parseAddress } from '../../src/ton/address.ts';
import { actionTypes } from '../../jobs/actions.ts';
import type { TransactionJson } from '../../src/simulator/json/transaction-json.ts';
import { jettonMovements } from '../../test/support/books/books-of-accounts.ts';
import { itemActions } from '../../test/support/books/books-of-items.ts';
import { decimalsOf, legsOf, type TradeLeg } from '../../test/support/books/books-of-trades.ts';
import { groupBy, phases, sum } from '../../test/support/books/facts.ts';
import { at, compare, ton, type Answer, type Network } from './answer.ts';

const JETTON = parseAddress('EQD1oABJeQ1jq4ogH2xYJGgKSbvHCh7xElB_T2YL7ePEibxr');

/** The account that the test of the page labels as an exchange. */
export const EXCHANGE = {
  address: parseAddress('EQADAn1x46fahB6S6YY0cPAxFbjjU0UzlEgHyV7Q4qNjmkl-'),
  label: 'Hot wallet',
  category: 'CEX',
  organization: 'Exchange',
};

/** Another account of the exchange: the first one that it sent coins to. */
export function coldWalletOf({ truth, span }: Pick<Network, 'truth' | 'span'>): string {
  const sent = [...truth.messages(span)].find(
    ({ source, destination }) => source === EXCHANGE.address && destination !== null,
  );
  if (sent?.destination == null) throw new TypeError('the exchange sent nothing');
  return sent.destination;
}

const byLt = (a: TransactionJson, b: TransactionJson) => compare(BigInt(a.lt), BigInt(b.lt));
const hourOf = (utime: number) => utime - (utime % 3600);
const count = <T>(all: Iterable<T>, key: (each: T) => string) =>
  [...groupBy([...all], key)].map(([name, own]) => ({ name, own, count: own.length }));

/** The actions of some types that did not fail. */
function done({ truth, span }: Network, ...types: string[]) {
  return [...truth.actions(span, actionTypes)].filter(
    ({ type, success }) => types.includes(type) && success !== false,
  );
}

/** Price of a leg between TON and the jetton, TON per whole unit, with six decimals. */
function priceOf({ sold, bought }: TradeLeg, places: number): string {
  const [coins, jettons] = sold.asset === 'TON' ? [sold, bought] : [bought, sold];
  const [nanotons, units] = [BigInt(coins.text), BigInt(jettons.text)];
  // Rounded half up, as decimals are.
  const scaled = (nanotons * 10n ** BigInt(places) * 2n) / (units * 1000n) + 1n;
  const digits = String(scaled / 2n).padStart(7, '0');
  return `${digits.slice(0, -6)}.${digits.slice(-6)}`;
}

const ofJetton = ({ truth, span }: Network): TradeLeg[] =>
  legsOf(truth, span).filter(({ sold, bought }) => {
    const assets = [sold.asset, bought.asset];
    return assets.includes('TON') && assets.includes(JETTON);
  });

/** Whole numbers with four decimals, rounded half up: the value of `(100 * part / whole)::decimal(38,4)`. */
function percent(part: bigint, whole: bigint): string {
  const digits = String(((part * 2_000_000n) / whole + 1n) / 2n).padStart(5, '0');
  return `${digits.slice(0, -4)}.${digits.slice(-4)}`;
}

function openOffers(network: Network) {
  const kinds = ['nft_put_on_sale', 'nft_put_on_auction', 'teleitem_start_auction', 'nft_update_sale'];
  const ends = [
    'nft_cancel_sale',
    'nft_cancel_auction',
    'teleitem_cancel_auction',
    'nft_purchase',
    'dns_purchase',
  ];
  const named = done(network, ...kinds, ...ends).map(
    ({ type, details, trace_id, trace_end_utime, end_lt }) => {
      const { nft_item, nft_address, ...terms } = details as {
        nft_item?: string;
        /** How a change of price names its item; it names no collection. */
        nft_address?: string;
        nft_collection?: string;
        full_price?: string;
        price?: string;
      };
      const item = nft_item ?? nft_address ?? '';
      return { type, item, ...terms, trace_id, utime: trace_end_utime, lt: BigInt(end_lt) };
    },
  );
  const traces = new Set(named.map(({ item, trace_id }) => `${item} ${trace_id}`));
  // An item that is given away otherwise has left its offer.
  const given = [...network.truth.nftTransfers(network.span)]
    .filter((each) => !each.transaction_aborted)
    .filter(({ nft_address, trace_id }) => !traces.has(`${nft_address} ${trace_id ?? ''}`))
    .map(({ nft_address, transaction_now, transaction_lt }) => {
      const terms: Partial<(typeof named)[number]> = {};
      return {
        ...terms,
        type: 'nft_transfer',
        item: nft_address,
        utime: transaction_now,
        lt: BigInt(transaction_lt),
      };
    });
  const events = [...named, ...given].sort((a, b) => a.utime - b.utime || compare(a.lt, b.lt));
  const last = new Map(events.map((event) => [event.item, event]));
  const items = network.truth.entities().nftItems();
  const collections = new Map([
    ...items.map(({ address, collection_address }) => [address, collection_address] as const),
    ...named.flatMap(({ item, nft_collection }) =>
      nft_collection == null ? [] : [[item, nft_collection] as const],
    ),
  ]);
  return [...last.values()]
    .filter(({ type }) => type === 'nft_put_on_sale' || type === 'nft_update_sale')
    .map((event) => ({ ...event, nft_collection: collections.get(event.item) }));
}

/** The network's own answers for what dashboards show, by their titles. */
export const answersOfDashboards: Readonly<Record<string, Answer>> = {
  'Which kinds of contract ran most?': ({ transactions }) => {
    const ran = transactions.filter((each) => phases(each).compute_ph?.gas_used !== undefined);
    // No contract of this network replaces its code.
    const contracts = count(ran, ({ account }) => account).map(({ own }) => ({
      code_hash: own.map((each) => each.account_state_after.code_hash).find((hash) => hash != null),
      runs: own.length,
      gas: sum(own.map((each) => phases(each).compute_ph?.gas_used)),
    }));
    const known = contracts.filter(({ code_hash }) => code_hash !== undefined);
    return count(known, ({ code_hash }) => String(code_hash))
      .map(({ name, own }) => ({
        code_hash: name,
        contracts: own.length,
        runs: sum(own.map(({ runs }) => runs)),
        gas_used: sum(own.map(({ gas }) => gas)),
      }))
      .sort((a, b) => compare(b.gas_used, a.gas_used) || compare(a.code_hash, b.code_hash))
      .slice(0, 5);
  },

  'Who paid for the most new accounts?': ({ transactions }) => {
    const accounts = count(transactions, ({ account }) => account).flatMap(({ own: all }) => {
      const own = all.sort(byLt);
      const funded = own.find(
        (each) =>
          each.in_msg?.source != null &&
          BigInt(each.in_msg.value ?? 0) > 0n &&
          each.in_msg.bounced !== true &&
          phases(each).bounce?.type !== 'ok',
      );
      const isWhole = own.some(({ prev_trans_lt }) => prev_trans_lt === '0');
      const funder = funded?.in_msg?.source;
      return isWhole && funder != null ? [{ funder, since: own[0]?.now }] : [];
    });
    return count(accounts, ({ funder }) => funder)
      .sort((a, b) => b.count - a.count || compare(a.name, b.name))
      .slice(0, 5)
      .map(({ name, own }) => ({
        first_funder: name,
        accounts: own.length,
        since: at(Math.min(...own.map(({ since = Infinity }) => since))),
      }));
  },

  'Do wallets come back?': ({ transactions }) => {
    const called = transactions.filter(({ in_msg }) => in_msg !== null && in_msg.source === null);
    const uses = count(called, ({ account }) => account).flatMap(({ own }) => {
      const hours = [...new Set(own.map(({ now }) => hourOf(now)))];
      return hours.map((hour) => ({ cohort: Math.min(...hours), hour }));
    });
    return count(uses, ({ cohort, hour }) => `${cohort} ${hour}`).map(({ own }) => ({
      cohort: at(own[0]?.cohort),
      hour: at(own[0]?.hour),
      wallets: own.length,
    }));
  },

  'Who are the richest?': ({ transactions }) =>
    count(transactions, ({ account }) => account)
      .flatMap(({ name, own }) => {
        const held = own.sort(byLt).flatMap(({ account_state_after: { balance } }) => balance ?? []);
        const last = held.at(-1);
        return last === undefined ? [] : [{ account: name, raw: BigInt(last) }];
      })
      .sort((a, b) => compare(b.raw, a.raw) || compare(a.account, b.account))
      .slice(0, 5)
      .map(({ account, raw }) => ({ account, balance: ton(raw) })),

  'What did an exchange take in and pay out?': (network) => {
    const own = [EXCHANGE.address, coldWalletOf(network)];
    const bounced = new Set(
      network.transactions
        .filter((each) => phases(each).bounce?.type === 'ok')
        .map(({ in_msg }) => in_msg?.hash),
    );
    const all = [...network.truth.messages(network.span)].filter((each) => {
      const isBack = each.bounced === true || bounced.has(each.hash);
      return !isBack && own.includes(each.source ?? '') !== own.includes(each.destination ?? '');
    });
    const total = (some: typeof all) => ton(sum(some.map(({ value }) => value ?? 0)));
    return [
      {
        exchange: EXCHANGE.organization,
        came_ton: total(all.filter(({ destination }) => own.includes(destination ?? ''))),
        went_ton: total(all.filter(({ source }) => own.includes(source ?? ''))),
        messages: all.length,
      },
    ];
  },

  'How many holders does each jetton have?': ({ truth, span }) => {
    const owned = jettonMovements(truth, span);
    const held = count(owned, ({ jetton, account }) => `${jetton} ${account}`)
      .map(({ own }) => ({ asset: own[0]!.jetton, balance: sum(own.map(({ amount }) => amount)) }))
      .filter(({ balance }) => balance > 0n);
    return count(held, ({ asset }) => asset)
      .sort((a, b) => b.count - a.count || compare(a.name, b.name))
      .slice(0, 5)
      .map(({ name, count: holders }) => ({ asset: name, holders }));
  },

  'What crossed bridges?': (network) => {
    const types = ['tgbtc_mint', 'tgbtc_burn', 'layerzero_send', 'layerzero_receive'];
    const crossings = done(network, ...types).map(({ type, details }) => {
      const { asset = null, amount } = details as { asset?: string; amount?: string };
      return { type, asset, amount };
    });
    return count(crossings, ({ type, asset }) => `${type} ${String(asset)}`).map(({ own }) => ({
      type: own[0]!.type,
      asset: own[0]!.asset,
      crossings: own.length,
      amount_raw: own[0]!.amount === undefined ? null : sum(own.map(({ amount }) => amount ?? '0')),
    }));
  },

  'What were the open, high, low and close?': (network) => {
    const places = decimalsOf(network.truth.entities().jettonMasters()).get(JETTON) ?? 0;
    const trades = ofJetton(network)
      .map((leg) => ({ ...leg, price: priceOf(leg, places) }))
      .sort(
        (a, b) =>
          compare(BigInt(a.action.start_lt), BigInt(b.action.start_lt)) ||
          compare(a.action.trace_id, b.action.trace_id) ||
          a.leg - b.leg,
      );
    return count(trades, ({ hour }) => String(hour)).map(({ name, own }) => {
      const prices = own.map(({ price }) => price).sort((a, b) => Number(a) - Number(b));
      return {
        hour: at(Number(name)),
        open: own[0]?.price,
        high: prices.at(-1),
        low: prices[0],
        close: own.at(-1)?.price,
      };
    });
  },

  'What did traders gain with a jetton?': (network) =>
    count(ofJetton(network), ({ trader }) => trader)
      .map(({ name, own }) => {
        const [bought, sold] = [
          own.filter((leg) => leg.sold.asset === 'TON'),
          own.filter((leg) => leg.bought.asset === 'TON'),
        ];
        return {
          trader: name,
          trades: own.length,
          gained: sum(sold.map((leg) => leg.bought.text)) - sum(bought.map((leg) => leg.sold.text)),
          jettons_left_raw: sum(bought.map((leg) => leg.bought.text)) - sum(sold.map((leg) => leg.sold.text)),
        };
      })
      .sort((a, b) => compare(b.gained, a.gained) || compare(a.trader, b.trader))
      .slice(0, 5)
      .map(({ gained, ...rest }) => ({ ...rest, gained_ton: ton(gained) })),

  'What is the cheapest offer of each collection?': (network) =>
    count(openOffers(network), ({ nft_collection }) => nft_collection ?? '').map(({ name, own }) => ({
      collection_address: name === '' ? null : name,
      offers: own.length,
      floor: ton(own.map(({ full_price, price }) => BigInt(full_price ?? price ?? 0)).sort(compare)[0] ?? 0n),
    })),

  'Which auctions have the highest bids?': (network) => {
    const bids = itemActions(network.truth, network.span)
      .filter(({ type, action }) => type === 'bid' && action.success !== false)
      .map(({ item, details: { bidder, amount } }) => ({ item, bidder, amount: BigInt(amount ?? 0) }));
    return count(bids, ({ item }) => item)
      .map(({ name, own }) => ({
        nft_address: name,
        bids: own.length,
        ...own.sort((a, b) => compare(b.amount, a.amount))[0]!,
      }))
      .sort((a, b) => compare(b.amount, a.amount) || compare(a.nft_address, b.nft_address))
      .slice(0, 5)
      .map(({ nft_address, bids, amount, bidder }) => ({ nft_address, bids, highest: ton(amount), bidder }));
  },

  'What did nominator pools earn?': ({ truth, spanOf }) => {
    const cycles = truth.pools.flatMap((pool) => {
      let settled: number | undefined;
      const events = [...truth.poolEvents(pool, spanOf('nominator_pool_events'))].map((event) => {
        settled = event.cycle_start ?? settled;
        return { ...event, settled };
      });
      return count(events, (event) => `${event.validator_address} ${String(event.settled)}`).map(
        ({ own }) => ({
          pool_address: pool,
          start: own[0]!.settled,
          rewards: sum(own.filter(({ type }) => type === 'reward').map(({ amount }) => amount)),
          opening: BigInt(own[0]!.balance_before),
        }),
      );
    });
    return cycles
      .filter(({ rewards }) => rewards > 0n)
      .sort((a, b) => (a.start ?? 0) - (b.start ?? 0) || compare(a.pool_address, b.pool_address))
      .slice(0, 20)
      .map(({ pool_address, start, rewards, opening }) => ({
        pool_address,
        cycle_start: at(start),
        reward_ton: ton(rewards),
        percent: percent(rewards, opening),
      }));
  },

  'How much of the weight have the three greatest validators?': ({ truth, spanOf }) => {
    const { from, to } = spanOf('validator_cycles');
    return truth
      .cycles()
      .filter(({ cycle_start }) => cycle_start >= from && cycle_start < to)
      .map(({ cycle_start, validators = [] }) => {
        const all = validators as readonly { weight: string; stake: string }[];
        const weights = all.map(({ weight }) => BigInt(weight)).sort((a, b) => compare(b, a));
        return {
          cycle_start,
          validators: all.length,
          stake_ton: ton(sum(all.map(({ stake }) => stake))),
          percent: percent(sum(weights.slice(0, 3)), sum(weights)),
        };
      });
  },

  'What is a staked TON worth?': (network) => {
    const deposits = done(network, 'stake_deposit').map(({ details }) => {
      const { asset = null, ...rest } = details as Record<'provider' | 'amount' | 'tokens_minted', string> & {
        asset?: string;
      };
      return { asset, ...rest };
    });
    return count(deposits, ({ asset, provider }) => `${String(asset)} ${provider}`)
      .sort((a, b) => b.count - a.count || compare(a.own[0]?.asset ?? '~', b.own[0]?.asset ?? '~'))
      .slice(0, 5)
      .map(({ own }) => ({
        asset: own[0]!.asset,
        provider: own[0]!.provider,
        deposits: own.length,
        ton: ton(sum(own.map(({ amount }) => amount))),
        tokens_raw: sum(own.map(({ tokens_minted }) => tokens_minted)),
      }));
  },

  'Which messages carry a word?': ({ truth, span }) =>
    [...truth.messages(span)]
      .flatMap((message) => {
        const { comment } = (message.message_content.decoded ?? {}) as { comment?: string };
        return comment?.includes('invoice') === true ? [{ ...message, comment }] : [];
      })
      .sort((a, b) => Number(a.created_at) - Number(b.created_at) || compare(a.hash, b.hash))
      .slice(0, 10)
      .map(({ created_at, source, destination, value, comment }) => ({
        utime: at(Number(created_at)),
        source,
        destination,
        ton: ton(BigInt(value ?? 0)),
        comment,
      })),

  'Whose traces cost the most?': ({ transactions }) =>
    count(transactions, ({ trace_id }) => trace_id)
      .map(({ name, own }) => ({
        trace_id: name,
        begun_by: own.find(({ hash }) => hash === name)?.account ?? null,
        transactions: own.length,
        fees: sum(own.map(({ total_fees }) => total_fees)),
      }))
      .sort((a, b) => compare(b.fees, a.fees) || compare(a.trace_id, b.trace_id))
      .slice(0, 5)
      .map(({ fees, ...rest }) => ({ ...rest, fees_ton: ton(fees) })),
};
