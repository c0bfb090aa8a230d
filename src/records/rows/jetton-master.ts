import type { JettonMaster } from '../schemas/jetton-master.ts';
import type { jetton_masters } from '../../db/schema/jetton-masters.ts';
import type { Extra } from '../../dataset/record.ts';
import { orNull } from './leftovers.ts';
import { contentDecimals, contentText } from './token-content.ts';

/** The row of a jetton master; name, symbol and decimals are columns besides the content that they come from. */
export function jettonMasterRow(record: JettonMaster, extra: Extra): typeof jetton_masters.$inferInsert {
  const { jetton_content: content } = record;
  return {
    ...record,
    name: contentText(content, 'name'),
    symbol: contentText(content, 'symbol'),
    decimals: contentDecimals(content),
    extra: orNull(extra),
  };
}
