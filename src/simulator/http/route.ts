import type { Build } from '../build.ts';
import type { Bounds } from '../bounds.ts';
import type { Ledger } from '../ledger.ts';
import type { View } from '../network-view.ts';
import type { Query } from './simulator-query.ts';
import type { Random } from '../random.ts';

/** One request, as a route sees it. */
export interface RouteRequest {
  readonly query: Query;
  /** A header by its lower-case name. */
  readonly header: (name: string) => string | undefined;
  readonly build: Build;
  readonly ledger: Ledger;
  readonly view: View;
  /** The random stream of this request: two requests shuffle differently, two runs identically. */
  readonly random: Random;
  readonly noAddressBook: boolean;
  readonly noMetadata: boolean;
  /** True if the query is interrupted after some rows, and the server does not notice. */
  readonly breaksOff: boolean;
}

/** JSON text, as a string or as its bytes. */
export type Body = string | Buffer;

/**
 * Answers a request with the JSON text of a 200.
 * @throws ServedError for any other response.
 */
export type Route = (request: RouteRequest) => Body;

/** Routes by path below the host. */
export type Routes = Readonly<Record<string, Route>>;

/** start_utime and end_utime, inclusive; undefined if neither is given. */
export function utimeRange(query: Query): Bounds | undefined {
  return bounds(query.utime('start_utime'), query.utime('end_utime'));
}

/** start_lt and end_lt, inclusive; undefined if neither is given. */
export function ltRange(query: Query): Bounds | undefined {
  return bounds(query.uint64('start_lt'), query.uint64('end_lt'));
}

function bounds(first: number | undefined, last: number | undefined): Bounds | undefined {
  return first === undefined && last === undefined
    ? undefined
    : { first: first ?? EVERYTHING.first, last: last ?? EVERYTHING.last };
}

export const EVERYTHING: Bounds = { first: 0, last: Number.MAX_SAFE_INTEGER - 1 };

export function within(asked: Bounds | undefined, value: number): boolean {
  return asked === undefined || (value >= asked.first && value <= asked.last);
}

/** `"address_book":{…}`, empty if the request switched it off. */
export function addressBookMember(request: RouteRequest, addresses: () => string[]): string {
  return `"address_book":${request.noAddressBook ? '{}' : JSON.stringify(request.ledger.addressBook(addresses()))}`;
}

/** `"metadata":{…}`, empty if the request switched it off. */
export function metadataMember(request: RouteRequest, addresses: () => string[]): string {
  return `"metadata":${request.noMetadata ? '{}' : JSON.stringify(request.ledger.metadata(addresses()))}`;
}

/** Builds a body without converting bytes to text and back. */
export function joinBody(head: string, middle: Body, tail: string): Body {
  if (typeof middle === 'string') return head + middle + tail;
  return Buffer.concat([Buffer.from(head), middle, Buffer.from(tail)]);
}
