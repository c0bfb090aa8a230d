import type { Priority } from '../budget/priority.ts';

/** A request that was answered, and the response. */
export interface Exchange<T> {
  readonly value: T;
  /** As it was sent; the key travels in a header and is never part of it. */
  readonly request: {
    readonly path: string;
    readonly query: string;
    /** The rows that it asked for, where it said: no more than the server gives. */
    readonly limit: number | undefined;
  };
  readonly status: number;
  /** Bytes of the body as it came over the wire, mostly compressed. */
  readonly bytes: number;
  /** From the send of the last attempt to the end of its body, decoded, without its waits for a place in memory. */
  readonly ms: number;
  /** Attempts made, at least 1. */
  readonly attempts: number;
  /** The server's `X-API-Version`: 1.2.x and 1.3.x differ in what they answer. */
  readonly apiVersion: string | undefined;
}

/** What of an exchange the log of pages keeps. */
export function loggedOf({ request, bytes, ms, apiVersion }: Exchange<unknown>) {
  return { request: `${request.path}?${request.query}`, bytes, ms, apiVersion };
}

/** One attempt that brought a response, of any status: for logs and metrics. */
export interface Attempt {
  readonly path: string;
  readonly priority: Priority;
  readonly status: number;
  readonly ms: number;
  readonly bytes: number;
  /** 1 for the first. */
  readonly attempt: number;
}
