import { actionTypes } from '../../../jobs/actions.ts';
import type { ActionJson } from '../../../src/simulator/json/action-json.ts';
import type { Range } from '../../../src/range.ts';
import type { Truth } from '../simulator/truth.ts';

/** The collection of the domains below .ton. */
export const DOT_TON = '0:B774D95EB20543F186C06B371AB88AD704F7E256130CAF96189368A7D0CB6CCF';

export interface Bid {
  readonly item: string;
  readonly index: string;
  readonly collection: string | null;
  readonly bidder: string;
  readonly raw: string;
  readonly isFirst: boolean;
  readonly action: ActionJson;
}

type Members = Readonly<Record<string, string>> & { readonly nft_collection: string | null };

/** True for what makes the item of a domain: its first bid. */
const isFirstBid = ({ type, details }: ActionJson): boolean =>
  type === 'nft_mint' && (details as Members).nft_collection === DOT_TON;

/** The mints that gave an item to an owner. */
export const mintsOf = (truth: Truth, span: Range): ActionJson[] =>
  [...truth.actions(span, actionTypes)].filter(
    (action) => action.type === 'nft_mint' && action.success !== false && !isFirstBid(action),
  );

/** All bids for items. Who bid first for a domain, and how much, says the message to the collection. */
export function bidsOf(truth: Truth, span: Range): Bid[] {
  const sent = new Map([...truth.transactions(span)].map(({ hash, in_msg }) => [hash, in_msg]));
  return [...truth.actions(span, actionTypes)].flatMap((action) => {
    const isFirst = isFirstBid(action);
    if (!isFirst && action.type !== 'auction_bid') return [];
    const details = action.details as Members;
    const { nft_item: item = '', nft_item_index: index = '', nft_collection: collection } = details;
    const message = sent.get(action.transactions[0] ?? '');
    const [bidder, raw] = isFirst
      ? [message?.source, message?.value]
      : [details['bidder'], details['amount']];
    if (bidder == null || raw == null) throw new TypeError(`the bid ${action.action_id} has no bidder`);
    return [{ item, index, collection, bidder, raw, isFirst, action }];
  });
}
