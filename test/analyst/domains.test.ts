import { afterAll, beforeAll, expect, test } from 'vitest';
import { bidsOf, DOT_TON, type Bid } from '../support/books/books-of-bids.ts';
import { groupBy, sorted } from '../support/books/facts.ts';
import { openCrawledStore, type CrawledStore } from '../support/database/crawled-store.ts';

/** A network in which most wallets call contracts, so that many of them bid. */
const network = {
  name: 'domains',
  besides: ['dns_auctions'],
  options: {
    seed: 5,
    start: Date.UTC(2026, 0, 31) / 1000,
    duration: 1800,
    load: 6,
    accounts: 120,
    pools: 1,
    mix: { call: 3 },
  },
} as const;

/* Follows bids for domains from the API's JSON to the views. */

let store: CrawledStore;
let bids: Bid[];

beforeAll(async () => {
  store = await openCrawledStore(network);
  bids = bidsOf(store.truth, store.span).filter(({ collection }) => collection === DOT_TON);
});
afterAll(() => store.close());

/** Auctions whose leading bidder is named by an action: those that can be looked up. */
function auctionsOf(bidders: ReadonlySet<string>) {
  return store.truth
    .entities()
    .dnsAuctions()
    .filter((each) => bidders.has(each.max_bid_address));
}

test('every bid for a domain, the first one too, is a row of nft_events', async () => {
  const domains = new Map(
    auctionsOf(new Set(bidsOf(store.truth, store.span).map(({ bidder }) => bidder))).map((each) => [
      each.nft_item_address,
      each.domain,
    ]),
  );
  const rows =
    await store.ask(`select nft_address, nft_index, collection_address, type, sale_type, bidder, owner, price_raw, payment_asset,
      sale_address, domain, is_aborted::text, action_id, trace_id, lt, extract(epoch from utime)::bigint as at
    from nft_events where collection_address = '${DOT_TON}'`);
  const expected = bids.map(({ item, index, bidder, raw, action }) => ({
    ...{ nft_address: item, nft_index: index, collection_address: DOT_TON },
    ...{ type: 'bid', sale_type: 'auction', bidder, owner: null, price_raw: raw, payment_asset: 'TON' },
    ...{ sale_address: item, domain: domains.get(item) ?? null, is_aborted: action.success === false },
    ...{
      action_id: action.action_id,
      trace_id: action.trace_id,
      lt: action.end_lt,
      at: action.trace_end_utime,
    },
  }));
  expect(new Set(bids.map(({ isFirst }) => isFirst))).toEqual(new Set([true, false]));
  expect(new Set(bids.map(({ action }) => action.success))).toEqual(new Set([true, false]));
  expect(domains.size).toBeGreaterThan(3);
  expect(sorted(rows)).toEqual(sorted(expected));
});

test('the auctions of domains lead with the highest of their bids, and are found by their first and later bidders', async () => {
  const seen = await store.ask('select distinct address from etl.seen_bidders');
  const bidders = new Set(bidsOf(store.truth, store.span).map(({ bidder }) => bidder));
  expect(seen.map(({ address }) => address).sort()).toEqual([...bidders].sort());
  const rows =
    await store.ask(`select nft_item_address, domain, max_bid_address, max_bid_amount, finished::text,
      extract(epoch from auction_end_time)::bigint as auction_end_time, extract(epoch from last_fill_up_time)::bigint as last_fill_up_time
    from dns_auctions`);
  const auctions = auctionsOf(bidders);
  expect(sorted(rows)).toEqual(sorted(auctions));
  const counted = bids.filter(({ action }) => action.success !== false);
  const highest = [...groupBy(counted, ({ item }) => item)].map(([item, own]) => {
    const [most] = own.sort((a, b) => Number(BigInt(b.raw) - BigInt(a.raw)));
    return { nft_item_address: item, max_bid_address: most?.bidder, max_bid_amount: most?.raw };
  });
  // A trace that the indexer cannot read does not show that it is a bid.
  const agreeing = sorted(highest).filter((one) =>
    auctions.some(
      (each) =>
        each.nft_item_address === one['nft_item_address'] && each.max_bid_amount === one['max_bid_amount'],
    ),
  );
  expect(agreeing.length).toBeGreaterThan(highest.length * 0.8);
  expect(
    sorted(
      await store.ask(`select nft_address as nft_item_address, (array_agg(bidder order by price desc, lt))[1] as max_bid_address,
          max(price_raw) as max_bid_amount from nft_events
        where type = 'bid' and not is_aborted and collection_address = '${DOT_TON}' group by 1`),
    ),
  ).toEqual(sorted(highest));
});

test('a bid for a domain makes no owner', async () => {
  expect(
    await store.ask(
      `select o.nft_address from nft_ownership o join nft_events e using (nft_address) where e.collection_address = '${DOT_TON}'`,
    ),
  ).toEqual([]);
});
