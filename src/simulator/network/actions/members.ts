import { NAMES, SLOTS } from '../chain/tables/accounts.ts';
import { queryId } from '../../json/comment.ts';
import { mix32 } from '../../random.ts';
import { itemIndex } from '../chain/nft-market.ts';
import type { Leg } from './made-action.ts';

/** Makes the value of one member of an action's details; `position` tells members of one kind apart. */
export type Member = (leg: Leg, position: number) => unknown;

/** The members of a type's details, in their order. */
export type MembersShape = Readonly<Record<string, Member>>;

/** The details that a shape makes of a leg. */
export function fill(shape: MembersShape, leg: Leg): object {
  return Object.fromEntries(
    Object.entries(shape).map(([name, member], position) => [name, member(leg, position)]),
  );
}

const dice = ({ message }: Leg, position: number): number => mix32(message + position * 7919);

export const actor: Member = ({ world, message }) =>
  world.accounts.address(world.messages.source.get(message));
export const contract: Member = ({ world, message }) =>
  world.accounts.address(world.messages.destination.get(message));

/** Some wallet that has nothing to do with the trace. */
export const wallet: Member = (leg, position) => {
  const { accounts } = leg.world;
  return accounts.address(accounts.account('wallet', dice(leg, position) % accounts.wallets));
};

const membersOf = (pick: (leg: Leg) => number) => ({
  item: (leg: Leg) => leg.world.accounts.address(pick(leg)),
  collection: (leg: Leg) => leg.world.accounts.address(leg.world.accounts.collection(pick(leg))),
  index: (leg: Leg) => itemIndex(leg.world, pick(leg)),
});

/** Some item. */
export const { item, collection, index } = membersOf((leg) =>
  leg.world.accounts.account('nft_item', dice(leg, 0) % leg.world.accounts.wallets),
);

/** Some domain. */
export const domain = membersOf((leg) =>
  leg.world.accounts.account('nft_item', leg.world.accounts.wallets + (dice(leg, 0) % NAMES)),
);

const senderOf = ({ world, message }: Leg): number => world.messages.source.get(message);
const isWallet = ({ world, message }: Leg): boolean =>
  world.accounts.role(world.messages.source.get(message)) === 'wallet';

/** One of the jettons of the sender's group; null if the sender is no wallet. */
export const asset =
  (slot: number): Member =>
  (leg) =>
    isWallet(leg)
      ? leg.world.accounts.address(leg.world.accounts.jettonMaster(senderOf(leg), slot % SLOTS))
      : null;

/** The sender's jetton wallet for {@link asset}. */
export const jettonWallet =
  (slot: number): Member =>
  (leg) =>
    isWallet(leg)
      ? leg.world.accounts.address(leg.world.accounts.jettonWallet(senderOf(leg), slot % SLOTS))
      : null;

/** Assets of EVAA by number: the SHA-256 of TON, USDT and jUSDC. */
const EVAA_ASSETS = [
  '0x1a4219fe5e60d63af2a3cc7dce6fec69b45c6b5718497a6148e7c232ac87bd8a',
  '0xca9006bd3fb03d355daeeff93b24be90afaa6e3ca0073ff5720f8a852c933278',
  '0x83d916c68510802104d1f75aa6ce30eb1e477aede0d380eee2188e0e56581fc6',
];
const evaaPosition = (leg: Leg): number => dice(leg, 0) % EVAA_ASSETS.length;
export const evaaAsset: Member = (leg) => EVAA_ASSETS[evaaPosition(leg)];
export const isEvaaTon: Member = (leg) => evaaPosition(leg) === 0;
/** The jetton of {@link evaaAsset}; null for TON. */
export const evaaJetton: Member = (leg, position) =>
  evaaPosition(leg) === 0 ? null : asset(0)(leg, position);

/** Nanotons sent along. */
export const value: Member = ({ world, message }) => String(world.messages.value.get(message));

/** An amount of something, sometimes beyond what a number holds. */
export const amount: Member = (leg, position) => {
  const text = String(dice(leg, position) % 1_000_000_007);
  return dice(leg, position + 1) % 5 === 0 ? `${text}${mix32(leg.message)}00000000007` : text;
};

export const query: Member = ({ trace }) => queryId(trace);
export const boc: Member = ({ bocs, message }, position) =>
  bocs.make(message + position, 60 + (mix32(message) % 90));
export const hash: Member = ({ world, message }, position) =>
  world.hashes(`detail ${position}`).text(message);
export const hex: Member = ({ world, message }, position) => world.hashes(`detail ${position}`).hex(message);
export const yesNo: Member = (leg, position) => dice(leg, position) % 2 === 0;
export const small: Member = (leg, position) => dice(leg, position) % 250;

/** Beyond 2^53: printed as a number all the same. */
export const huge: Member = (leg, position) =>
  (BigInt((dice(leg, position) | 1) >>> 0) << 31n) + BigInt(dice(leg, position + 1)) + 9_007_199_254_740_993n;

/** A number as text. */
export const count: Member = (leg, position) => String(dice(leg, position) % 100_000);
export const second: Member = ({ world, receiver }) => world.utimeOf(receiver) + 86_400;
export const nothing: Member = () => null;

/** One of a few values. */
export const oneOf =
  (...values: readonly unknown[]): Member =>
  (leg, position) =>
    values[dice(leg, position) % values.length];

/** The member or null, as it comes. */
export const maybe =
  (member: Member): Member =>
  (leg, position) =>
    dice(leg, position + 2) % 3 === 0 ? null : member(leg, position);

/** An object of its own. */
export const nested =
  (shape: MembersShape): Member =>
  (leg) =>
    fill(shape, leg);

/** One to three values. */
export const some =
  (member: Member): Member =>
  (leg, position) =>
    Array.from({ length: 1 + (dice(leg, position) % 3) }, (_, at) => member(leg, position + at * 13));
