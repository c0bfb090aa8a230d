import { actionTypes } from '../../../jobs/actions.ts';
import type { ActionJson } from '../../../src/simulator/json/action-json.ts';
import type { Range } from '../../../src/range.ts';
import type { Truth } from '../simulator/truth.ts';
import { groupBy } from './facts.ts';

/** The collection of the domains below .ton. */
export const DOT_TON = '0:B774D95EB20543F186C06B371AB88AD704F7E256130CAF96189368A7D0CB6CCF';

export type Members = Readonly<Record<string, string | null | undefined>>;

/** Something that happened to an item, as the action says. */
export interface ItemAction {
  readonly type: string;
  /** How the item is offered, if the type of the action tells. */
  readonly offer: string | null;
  readonly item: string;
  readonly details: Members;
  readonly action: ActionJson;
}

/** What each action does to an item, and how the item is offered. */
const KINDS: Readonly<Record<string, readonly [string, string?]>> = {
  nft_mint: ['mint'],
  nft_put_on_sale: ['listing', 'sale'],
  nft_put_on_auction: ['listing', 'auction'],
  teleitem_start_auction: ['listing', 'auction'],
  nft_update_sale: ['price change', 'sale'],
  nft_cancel_sale: ['cancel', 'sale'],
  nft_cancel_auction: ['cancel', 'auction'],
  teleitem_cancel_auction: ['cancel', 'auction'],
  auction_bid: ['bid', 'auction'],
  auction_outbid: ['outbid', 'auction'],
  nft_purchase: ['sale'],
  dns_purchase: ['sale'],
  nft_transfer: ['sale'],
  nft_finish_auction: ['auction end', 'auction'],
};

/**
 * What happened to items besides plain transfers. What makes the item of a domain is the first bid for it. Its bidder and
 * amount are those of the message to the collection; they stand among the details as those of any bid do.
 */
export function itemActions(truth: Truth, span: Range): ItemAction[] {
  const sent = new Map([...truth.transactions(span)].map(({ hash, in_msg }) => [hash, in_msg]));
  return [...truth.actions(span, actionTypes)].flatMap((action): ItemAction[] => {
    const details = action.details as Members;
    const [type, offer = null] = KINDS[action.type] ?? [];
    if (type === undefined || (action.type === 'nft_transfer' && details['price'] === undefined)) return [];
    const item = details['nft_item'] ?? details['nft_address'];
    if (item == null) throw new TypeError(`the action ${action.action_id} has no item`);
    const isFirstBid = type === 'mint' && details['nft_collection'] === DOT_TON;
    if (!isFirstBid) return [{ type, offer, item, details, action }];
    const message = sent.get(action.transactions[0] ?? '');
    const bid = { ...details, bidder: message?.source, amount: message?.value, auction: item };
    return [{ type: 'bid', offer: 'auction', item, details: { ...bid, owner: null }, action }];
  });
}

/** Who has an item made, or offers it. Of a mint the source mostly names the collection, which owns nothing. */
export function askerOf({ owner, source, nft_collection: collection }: Members): string | null {
  const named = owner ?? source ?? null;
  return named === collection ? null : named;
}

/** The owners of each item, one after the other: by mints, by transfers, and by sales of names, which nothing moves. */
export function ownersOf(truth: Truth, span: Range) {
  const known = new Map(
    truth
      .entities()
      .nftItems()
      .map((item) => [item.address, item]),
  );
  const gained = [
    ...[...truth.nftTransfers(span)]
      .filter(({ transaction_aborted }) => !transaction_aborted)
      .map((each) => ({
        nft_address: each.nft_address,
        owner: each.new_owner,
        since: each.transaction_now,
        kind: 'transfer',
        previous_owner: each.old_owner,
        lt: each.transaction_lt,
        trace_id: each.trace_id,
      })),
    ...itemActions(truth, span)
      .filter(
        ({ type, details }) => type === 'mint' || (type === 'sale' && details['real_old_owner'] == null),
      )
      .filter(({ action }) => action.success !== false)
      .map(({ type, item, details, action }) => ({
        nft_address: item,
        owner: details['new_owner'] ?? askerOf(details),
        since: action.trace_end_utime,
        kind: type,
        previous_owner: details['old_owner'] ?? null,
        lt: action.end_lt,
        trace_id: action.trace_id,
      })),
  ];
  return [...groupBy(gained, ({ nft_address }) => nft_address)].flatMap(([item, all]) =>
    all
      .sort((a, b) => a.since - b.since || Number(a.lt) - Number(b.lt))
      .map((each, index) => {
        const next = all[index + 1];
        const now = known.get(item)?.real_owner ?? known.get(item)?.owner_address;
        const minted = (next === undefined ? now : next.previous_owner) ?? each.owner;
        return { ...each, owner: each.kind === 'mint' ? minted : each.owner, until: next?.since };
      }),
  );
}
