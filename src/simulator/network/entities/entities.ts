import type { BocMaker } from '../chain/boc.ts';
import type { World } from '../chain/world.ts';
import type { View } from '../../view.ts';
import { accountStateJson } from '../../json/account-state-json.ts';
import * as accounts from './account-entities.ts';
import { Snapshot } from './snapshot.ts';
import * as tokens from './token-entities.ts';

/** What the contracts of a network are at one moment: what lists and look-ups answer from. Lists stand in the order of ids. */
export interface Entities {
  jettonMasters(): tokens.JettonMasterJson[];
  jettonWallets(): tokens.JettonWalletJson[];
  nftCollections(): tokens.NftCollectionJson[];
  nftItems(): tokens.NftItemJson[];
  nftSales(): tokens.NftSaleJson[];
  accountState(address: string, includeBoc: boolean): accounts.AccountStateFullJson | undefined;
  /** Greatest balance first. */
  balances(): { readonly account: string; readonly balance: string }[];
  multisigs(withOrders: boolean): accounts.MultisigJson[];
  multisigOrders(parseActions: boolean): accounts.MultisigOrderJson[];
  vestings(): accounts.VestingJson[];
  /** By length of the domain. */
  dnsRecords(): accounts.DnsRecordJson[];
}

/** The entities of a recorded network: nothing is recorded of them. */
export const NO_ENTITIES: Entities = {
  jettonMasters: () => [],
  jettonWallets: () => [],
  nftCollections: () => [],
  nftItems: () => [],
  nftSales: () => [],
  accountState: () => undefined,
  balances: () => [],
  multisigs: () => [],
  multisigOrders: () => [],
  vestings: () => [],
  dnsRecords: () => [],
};

/** Entities of a generated network. The last moment that was asked for is kept: most requests ask for the same one. */
export class ChainEntities {
  private readonly world: World;
  private readonly bocs: BocMaker;
  private readonly visible: (view: View, row: number) => boolean;
  private kept: { readonly key: string; readonly entities: Entities } | undefined;

  constructor(world: World, bocs: BocMaker, visible: (view: View, row: number) => boolean) {
    this.world = world;
    this.bocs = bocs;
    this.visible = visible;
  }

  at(view: View): Entities {
    const key = `${String(view.head)} ${Math.floor(view.headTime)} ${this.world.transactions.count}`;
    if (this.kept?.key !== key) {
      const snapshot = new Snapshot(this.world, (row) => this.visible(view, row));
      this.kept = { key, entities: entitiesOf(snapshot, this.bocs) };
    }
    return this.kept.entities;
  }
}

function entitiesOf(snapshot: Snapshot, bocs: BocMaker): Entities {
  const { world } = snapshot;
  const once = <T>(make: () => T): (() => T) => {
    let made: { readonly value: T } | undefined;
    return () => (made ??= { value: make() }).value;
  };
  return {
    jettonMasters: once(() =>
      snapshot.ofRole('jetton_master').map((one) => tokens.jettonMaster(snapshot, one)),
    ),
    jettonWallets: once(() =>
      snapshot.ofRole('jetton_wallet').map((one) => tokens.jettonWallet(snapshot, one)),
    ),
    nftCollections: once(() =>
      snapshot.ofRole('nft_collection').map((one) => tokens.nftCollection(snapshot, one)),
    ),
    nftItems: once(() => snapshot.ofRole('nft_item').map((one) => tokens.nftItem(snapshot, one))),
    nftSales: once(() => snapshot.ofRole('nft_item').flatMap((one) => tokens.nftSale(snapshot, one) ?? [])),
    accountState: (address, includeBoc) => {
      const account = world.accounts.find(address);
      return account === undefined ? undefined : accounts.accountState(snapshot, bocs, account, includeBoc);
    },
    balances: once(() => balances(snapshot)),
    multisigs: (withOrders) =>
      accounts.multisigs(snapshot).map((one) => accounts.multisig(snapshot, bocs, one, withOrders)),
    multisigOrders: (parse) =>
      accounts.multisigs(snapshot).flatMap((one) => accounts.orders(snapshot, bocs, one, parse)),
    vestings: () => accounts.vestings(snapshot).map((one) => accounts.vesting(snapshot, one)),
    dnsRecords: once(() =>
      snapshot.order
        .flatMap((one) => accounts.dnsRecord(snapshot, one) ?? [])
        .sort((a, b) => a.domain.length - b.domain.length || (a.domain < b.domain ? -1 : 1)),
    ),
  };
}

function balances({ world, last }: Snapshot): { account: string; balance: string }[] {
  return [...last]
    .map(([account, row]) => ({
      account: world.accounts.address(account),
      balance: accountStateJson(world, row).balance ?? '0',
    }))
    .sort((a, b) => Number(b.balance) - Number(a.balance));
}
