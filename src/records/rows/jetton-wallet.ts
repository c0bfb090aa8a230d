import type { JettonWallet } from '../schemas/jetton-wallet.ts';
import type { jetton_wallets } from '../../db/schema/jetton-wallets.ts';
import type { Extra } from '../../dataset/record.ts';
import { isEmpty, orNull } from './leftovers.ts';

/** The row of a jetton wallet; a mintless_info without values is kept in `extra`, because its columns cannot tell of it. */
export function jettonWalletRow(
  { mintless_info: mintless, ...columns }: JettonWallet,
  extra: Extra,
): typeof jetton_wallets.$inferInsert {
  const kept = isEmpty(mintless) ? { ...extra, mintless_info: {} } : extra;
  return {
    ...columns,
    mintless_amount: mintless?.amount,
    mintless_start_from: mintless?.start_from,
    mintless_expire_at: mintless?.expire_at,
    mintless_custom_payload_api_uri: mintless?.custom_payload_api_uri ?? null,
    extra: orNull(kept),
  };
}
