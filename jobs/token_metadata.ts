import * as z from 'zod';
import { account, flag, freeForm, requiredFlag, text } from '../src/records/members.ts';
import { defineCollection, lookup, type Asked } from '../src/dataset/collection.ts';
import { givenLayout, rowLayoutOf, type Extra, type Put } from '../src/dataset/declaration/record.ts';
import { jetton_descriptions, nft_descriptions, token_metadata } from '../src/tables/ton/address-book.ts';
import { DAY } from '../src/range.ts';
import { contentDecimals, contentText } from '../src/records/tokens.ts';

const tokenInfo = z.strictObject({
  valid: flag,
  type: text,
  name: text,
  symbol: text,
  description: text,
  image: text,
  nft_index: text,
  is_nsfw: flag,
  is_scam: flag,
  extra: freeForm,
});

/** An entry of a `metadata` map, with its key as `address`. */
export const metadataEntry = z.strictObject({
  address: account,
  is_indexed: requiredFlag,
  token_info: z.array(tokenInfo).nullish(),
});

const tokens = rowLayoutOf(token_metadata, metadataEntry);
const jettons = givenLayout(jetton_descriptions);
const nfts = givenLayout(nft_descriptions);

export default defineCollection({
  title:
    'What the indexer found out about tokens, on chain and off: name, symbol, decimals, picture, warnings',
  limitations: 'metadata between two look-ups, and tokens that no indexed row names',
  piggybackedAs: 'metadata',
  tables: { token_metadata, jetton_descriptions, nft_descriptions },
  walks: [
    lookup({
      path: '/api/v3/metadata',
      index: 'address_metadata (address, type)',
      shape: 'map',
      batch: { param: 'address' },
      record: metadataEntry,
      id: ['address'],
      rows: tokenRows,
      answers: { key: 'address' },
      refreshSeconds: DAY,
      unknownForSeconds: DAY,
      subjects: {
        watched: true,
        seenIn: [
          { relation: 'ton.jetton_masters', key: 'address', time: 'loaded_at' },
          { relation: 'ton.nft_collections', key: 'address', time: 'loaded_at' },
          { relation: 'ton.jetton_transfers', key: 'jetton_master', time: 'utime' },
          { relation: 'ton.nft_transfers', key: 'nft_address', time: 'utime' },
        ],
      },
    }),
  ],
});

/** Puts the row of a token's metadata, the first of its infos as columns besides all of them, and its descriptions. */
function tokenRows(
  record: z.output<typeof metadataEntry>,
  extra: Extra,
  put: Put,
  { at }: Pick<Asked, 'at'>,
): void {
  const { address, is_indexed, token_info } = record;
  const infos = token_info ?? [];
  const [{ extra: more, ...first } = { extra: undefined }] = infos;
  put(tokens, record, { ...first, decimals: contentDecimals(more) }, extra);
  for (const info of infos) {
    const described = { address, ...descriptionOf(info), is_indexed, first_seen: at };
    if (info.type === 'jetton_masters') put(jettons, null, described);
    if (info.type === 'nft_items') put(nfts, null, { ...described, type: 'item' });
    if (info.type === 'nft_collections') put(nfts, null, { ...described, type: 'collection' });
  }
}

/** Metadata has no logical time. */
function descriptionOf(info: z.output<typeof tokenInfo>) {
  const { name, symbol, description, image, is_nsfw, is_scam, extra } = info;
  const [uri, decimals] = [contentText(extra, 'uri'), contentDecimals(extra)];
  const details = { name, symbol, decimals, description, image, uri, is_nsfw, is_scam, content: info };
  return { source: 'indexer', ...details, last_transaction_lt: '0' };
}
