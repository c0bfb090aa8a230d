import type { BookEntry, MetadataEntry } from '../schemas/address-entry.ts';
import type { address_book, token_metadata } from '../../db/schema/address-book.ts';
import type { Extra } from '../../dataset/record.ts';
import { orNull } from './leftovers.ts';
import { contentDecimals } from './token-content.ts';

export function bookRow(record: BookEntry, extra: Extra): typeof address_book.$inferInsert {
  return { ...record, extra: orNull(extra) };
}

/** The row of a token's metadata: the first of its infos as columns besides all of them. */
export function metadataRow(record: MetadataEntry, extra: Extra): typeof token_metadata.$inferInsert {
  const { address, is_indexed, token_info } = record;
  const [{ extra: more, ...first } = { extra: undefined }] = token_info ?? [];
  return { address, is_indexed, ...first, decimals: contentDecimals(more), token_info, extra: orNull(extra) };
}
