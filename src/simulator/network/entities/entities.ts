import type { BocMaker } from '../chain/boc.ts';
import type { World } from '../chain/world.ts';
import type { View } from '../../network-view.ts';
import { accountStateJson } from '../../json/account-state-json.ts';
import * as accounts from './account-entities.ts';
import { WorldState } from './world-state.ts';
import * as tokens from './token-entities.ts';

/** The contracts of a network at one moment, for lists and look-ups. Lists are in the order of ids. */
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
  /** By their end. */
  dnsAuctions(): accounts.DnsAuctionJson[];
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
  dnsAuctions: () => [],
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
      const state = new WorldState(this.world, (row) => this.visible(view, row));
      this.kept = { key, entities: entitiesOf(state, this.bocs, this.newestBlock(view.headTime)) };
    }
    return this.kept.entities;
  }

  /** The second of the newest masterchain block at a moment. */
  private newestBlock(moment: number): number {
    const { utime } = this.world.ticks;
    return utime.get(Math.max(0, utime.lowerBound(Math.floor(moment) + 1) - 1));
  }
}

function entitiesOf(state: WorldState, bocs: BocMaker, now: number): Entities {
  const { world } = state;
  const once = <T>(make: () => T): (() => T) => {
    let made: { readonly value: T } | undefined;
    return () => (made ??= { value: make() }).value;
  };
  return {
    jettonMasters: once(() => state.masters().map((one) => tokens.jettonMaster(state, one))),
    jettonWallets: once(() => state.ofRole('jetton_wallet').map((one) => tokens.jettonWallet(state, one))),
    nftCollections: once(() => state.ofRole('nft_collection').map((one) => tokens.nftCollection(state, one))),
    nftItems: once(() => state.ofRole('nft_item').map((one) => tokens.nftItem(state, one))),
    nftSales: once(() => state.ofRole('nft_item').flatMap((one) => tokens.nftSale(state, one) ?? [])),
    accountState: (address, includeBoc) => {
      const account = world.accounts.find(address);
      return account === undefined ? undefined : accounts.accountState(state, bocs, account, includeBoc);
    },
    balances: once(() => balances(state)),
    multisigs: (withOrders) =>
      accounts.multisigs(state).map((one) => accounts.multisig(state, bocs, one, withOrders)),
    multisigOrders: (parse) =>
      accounts.multisigs(state).flatMap((one) => accounts.orders(state, bocs, one, parse)),
    vestings: () => accounts.vestings(state).map((one) => accounts.vesting(state, one)),
    dnsRecords: once(() =>
      state.order
        .flatMap((one) => accounts.dnsRecord(state, one) ?? [])
        .sort((a, b) => a.domain.length - b.domain.length || (a.domain < b.domain ? -1 : 1)),
    ),
    dnsAuctions: once(() =>
      state.order
        .flatMap((one) => accounts.dnsAuction(state, one, now) ?? [])
        .sort((a, b) => Number(a.auction_end_time) - Number(b.auction_end_time)),
    ),
  };
}

function balances({ world, last }: WorldState): { account: string; balance: string }[] {
  return [...last]
    .map(([account, row]) => ({
      account: world.accounts.address(account),
      balance: accountStateJson(world, row).balance ?? '0',
    }))
    .sort((a, b) => Number(b.balance) - Number(a.balance));
}
