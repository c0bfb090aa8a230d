import { describe, expect, test } from 'vitest';
import { accountBalance } from '../../src/records/schemas/account-balance.ts';
import { accountStateFull } from '../../src/records/schemas/account-state-full.ts';
import { bookEntry, metadataEntry } from '../../src/records/schemas/address-entry.ts';
import { jettonMaster } from '../../src/records/schemas/jetton-master.ts';
import { jettonWallet } from '../../src/records/schemas/jetton-wallet.ts';
import {
  dnsRecord,
  multisigOrder,
  multisigWallet,
  vestingContract,
} from '../../src/records/schemas/multisig.ts';
import { nftCollection, nftItem } from '../../src/records/schemas/nft-item.ts';
import { nftSale } from '../../src/records/schemas/nft-sale.ts';
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
  ['AccountBalance', accountBalance, []],
];

describe.skipIf(!hasOpenapi)('the schema of', () => {
  test.each(records)('%s names every documented member and no other', (name, { shape }, own) => {
    const documented = Object.keys(openapiSchemas()[name]?.properties ?? {});
    expect(Object.keys(shape).sort()).toEqual([...documented, ...own].sort());
  });
});
