import { openapiSchemas, referenceOf, type Described } from '../openapi.ts';
import { address, digits, int, words } from './sample-records.ts';

type Json = Record<string, unknown>;

/** Members that name an account. */
const ACCOUNT =
  /source|destination|asset|owner|sender|receiver|recipient|pool|address|account|holder|item|subscriber|beneficiary|bidder|auction|vesting|borrower|vault|contract|oapp|initiator|uln|coordinator/;

/** Types of actions whose details have the shape of another type, or a name that does not follow from their own. */
const SHAPES: Readonly<Record<string, string>> = {
  nft_purchase: 'NftTransfer',
  extra_currency_transfer: 'TonTransfer',
  stake_withdrawal: 'WithdrawStake',
  stake_withdrawal_request: 'WithdrawStake',
  jvault_unstake_request: 'JvaultUnstake',
  teleitem_start_auction: 'NftPutOnAuction',
  teleitem_cancel_auction: 'NftCancelAuction',
  tgbtc_dkg_log_fallback: 'DkgLogFallback',
};

/** The schema of the details of a type of action; undefined if the document has none. */
export function detailsSchema(type: string): Described | undefined {
  const pascal = type
    .replace(/_fallback$/, '')
    .split('_')
    .map((word) => word.replace(/^layerzero$/, 'layerZero').replace(/^./, (letter) => letter.toUpperCase()))
    .join('');
  return openapiSchemas()[`ActionDetails${SHAPES[type] ?? pascal}`];
}

/** Every schema of details that the document has, by name. */
export function detailsSchemas(): [string, Described][] {
  return Object.entries(openapiSchemas()).flatMap(([name, schema]): [string, Described][] =>
    name.startsWith('ActionDetails') && schema !== undefined ? [[name, schema]] : [],
  );
}

/** Synthetic details with every member of their schema; every second nullable one is null if `sparse`. */
export function sampleDetails(schema: Described, sparse = false): Json {
  const members = Object.entries(schema.properties ?? {});
  return Object.fromEntries(
    members.map(([name, member], index) => [name, sparse && index % 2 === 1 ? null : valueOf(name, member)]),
  );
}

function valueOf(name: string, schema: Described): unknown {
  const reference = referenceOf(schema);
  if (reference !== undefined) return sampleDetails(openapiSchemas()[reference] ?? {});
  if (schema.items !== undefined) return [valueOf(name, schema.items), valueOf(name, schema.items)];
  if (schema.additionalProperties !== undefined) return { 17: digits() };
  if (schema.type === 'integer') return int();
  if (schema.type === 'boolean') return true;
  if (/amount|value|price|fee|bid(?!der)/.test(name)) return digits();
  return ACCOUNT.test(name) ? address() : words(name);
}
