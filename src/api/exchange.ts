import type { Priority } from '../budget/priority.ts';

/** An answered request and its response. */
export interface Exchange<T> {
  readonly value: T;
  /** The request as it was sent. The key is in a header and never part of it. */
  readonly request: {
    readonly path: string;
    readonly query: string;
    /** The number of rows that it requested, if given: at most the server's limit. */
    readonly limit: number | undefined;
  };
  readonly status: number;
  /** Bytes of the body on the wire, mostly compressed. */
  readonly bytes: number;
  /** From the send of the last attempt to the end of its decoded body, without the waits for a memory slot. */
  readonly ms: number;
  /** Attempts made, at least 1. */
  readonly attempts: number;
  /** The server's `X-API-Version`: the answers of 1.2.x and 1.3.x differ. */
  readonly apiVersion: string | undefined;
}

/** The facts of an exchange that the log of pages stores. */
export function loggedOf({ request, bytes, ms, apiVersion }: Exchange<unknown>) {
  return { request: `${request.path}?${request.query}`, bytes, ms, apiVersion };
}

/** One attempt that got a response, of any status: for logs and metrics. */
export interface Attempt {
  readonly path: string;
  readonly priority: Priority;
  readonly status: number;
  readonly ms: number;
  readonly bytes: number;
  /** 1 for the first. */
  readonly attempt: number;
}
