import { describe, expect, test } from 'vitest';
import { accountBalance } from '../../jobs/top_accounts.ts';
import { accountStateFull } from '../../jobs/account_states.ts';
import { bookEntry } from '../../jobs/address_book.ts';
import { metadataEntry } from '../../jobs/token_metadata.ts';
import { jettonMaster } from '../../jobs/jetton_masters.ts';
import { jettonWallet } from '../../jobs/jetton_wallets.ts';
import { dnsAuction } from '../../jobs/dns_auctions.ts';
import { nominatorPool } from '../../jobs/nominator_pools.ts';
import { dnsRecord } from '../../jobs/dns_records.ts';
import { multisigWallet } from '../../jobs/multisig_wallets.ts';
import { vestingContract } from '../../jobs/vesting_contracts.ts';
import { multisigOrder } from '../../src/records/multisig-order.ts';
import { nftCollection, nftItem } from '../../src/records/tokens.ts';
import { nftSale } from '../../jobs/nft_sales.ts';
import { openapiSchemas } from '../support/openapi.ts';
import { hasOpenapi } from '../support/shared-data.ts';

/** The API's name of each record, its schema, and members of ours: the keys of maps. */
const records: [string, { readonly shape: object }, string[]][] = [
  ['JettonMaster', jettonMaster, []],
  ['JettonWallet', jettonWallet, []],
  ['NFTCollection', nftCollection, []],
  ['NFTItem', nftItem, []],
  ['NFTSale', nftSale, []],
  ['AccountStateFull', accountStateFull, []],
  ['AddressBookRow', bookEntry, ['address']],
  ['AddressMetadata', metadataEntry, ['address']],
  ['Multisig', multisigWallet, []],
  ['MultisigOrder', multisigOrder, []],
  ['VestingInfo', vestingContract, []],
  ['DNSRecord', dnsRecord, []],
  ['DNSAuction', dnsAuction, []],
  ['NominatorPoolInfo', nominatorPool, []],
  ['AccountBalance', accountBalance, []],
];

describe.skipIf(!hasOpenapi)('the schema of', () => {
  test.each(records)('%s names every documented member and no other', (name, { shape }, own) => {
    const documented = Object.keys(openapiSchemas()[name]?.properties ?? {});
    expect(Object.keys(shape).sort()).toEqual([...documented, ...own].sort());
  });
});
