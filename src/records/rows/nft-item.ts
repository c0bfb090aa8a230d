import type { NftCollection, NftItem } from '../schemas/nft-item.ts';
import type { nft_collections } from '../../db/schema/nft-collections.ts';
import type { nft_items } from '../../db/schema/nft-items.ts';
import { extraOutside, extraWithin, type Extra } from '../../dataset/record.ts';
import { orNull } from './leftovers.ts';
import { contentText } from './token-content.ts';

type CollectionRow = typeof nft_collections.$inferInsert;

/** The rows of an item: its own, and its collection's where the item brings it. */
export interface ItemRows {
  readonly nft_items: readonly (typeof nft_items.$inferInsert)[];
  readonly nft_collections: readonly CollectionRow[];
}

export function nftCollectionRow(record: NftCollection, extra: Extra): CollectionRow {
  return { ...record, name: contentText(record.collection_content, 'name'), extra: orNull(extra) };
}

export function nftItemRows({ collection, ...columns }: NftItem, extra: Extra): ItemRows {
  return {
    nft_items: [{ ...columns, extra: extraOutside(extra, ['collection']) }],
    nft_collections:
      collection == null ? [] : [nftCollectionRow(collection, extraWithin(extra, 'collection') ?? {})],
  };
}
