import type { Budget } from '../budget/budget.ts';
import type { Clock } from '../clock.ts';
import {
  ApiUnavailableError,
  BadResponseError,
  EtlError,
  NoEndpointError,
  RequestTooLargeError,
} from '../errors.ts';
import type { Flight, InFlight } from '../budget/in-flight.ts';
import type { Logger } from '../logger.ts';
import type { Priority } from '../budget/priority.ts';
import type { Recorder } from './recorder.ts';
import type { Attempt, Exchange } from './exchange.ts';
import type { KeyGuard } from './response/key-guard.ts';
import { ApiFailedError } from './response/api-failed-error.ts';
import { parseBody } from './response/parse-json.ts';
import type { Prepared } from './prepare.ts';
import { summary } from './response/reason.ts';
import type { ApiFacts } from './server-facts.ts';
import type { CountingStats } from './stats.ts';
import { errorOfStatus } from './response/status.ts';
import type { ApiResponse, ResponseHead, Transport } from './transport.ts';
import { openEnvelope } from './response/v2.ts';

/** What every attempt needs. */
export interface AttemptContext {
  readonly transport: Transport;
  readonly budget: Budget;
  readonly inFlight: InFlight;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly count: CountingStats['add'];
  readonly host: string;
  /** Takes the key out of a text, however it is spelled there. */
  readonly withoutKey: (text: string) => string;
  /** The same of data, which must not change by chance. */
  readonly key: KeyGuard;
  readonly onExchange: ((attempt: Attempt) => void) | undefined;
  /** What the server has said of its endpoints. */
  readonly facts: Pick<ApiFacts, 'answered' | 'mayAnswer'>;
  /** Where responses are kept, if they are. */
  readonly recorder: Pick<Recorder, 'record'> | undefined;
}

/** A prepared request and how its response is read. */
export type Call<T> = CallFacts & BodyReading<T>;

/** How a body becomes a value. What it throws makes the response a bad one, which is tried again. */
export type BodyReading<T> =
  | {
      /** Reads the parsed body (of v2: the result), and learns the limit that was sent, which may be less than was wanted. */
      readonly parse: (body: unknown, limit: number | undefined) => T;
      readonly readBytes?: never;
    }
  | { readonly readBytes: ReadBytes<T>; readonly parse?: never };

/** Reads a body as it came, some milliseconds at a time. */
export type ReadBytes<T> = (body: Buffer, how: BytesReading) => Promise<T>;

export interface BytesReading {
  readonly limit: number | undefined;
  /** Waits until it may take its time in this thread: see `Flight.turn`. */
  readonly turn: () => Promise<void>;
}

interface CallFacts extends Prepared {
  readonly priority: Priority;
  /** The caller's own, who ends it. */
  readonly flight?: Flight | undefined;
  /** The rows that it asks for, where it says. */
  readonly limit: number | undefined;
  /** Attempts at what may never be answered well; left out: as many as usual. */
  readonly attemptsInDoubt?: number | undefined;
  /** True where the body is v2's envelope and `parse` reads its result. */
  readonly envelope: boolean;
}

interface AttemptSignals {
  readonly signal: AbortSignal;
  /** Ends the wait for a slot: nothing is in hand in it. */
  readonly waiting: AbortSignal;
}

/** One attempt: a slot, a send, the status, the body. Throws what `transport`, `errorOfStatus` and the parsers throw. */
export async function attempt<T>(
  chain: AttemptContext,
  call: Call<T>,
  number: number,
  { signal, waiting }: AttemptSignals,
): Promise<Exchange<T>> {
  await chain.budget.take(call.priority, waiting);
  const flight = call.flight ?? chain.inFlight.open(call.priority, true);
  try {
    return await send(chain, { ...call, flight }, number, signal);
  } catch (error) {
    flight.failed(isTrouble(error));
    throw error;
  } finally {
    if (call.flight === undefined) flight.end();
  }
}

/** True where the source is overloaded or away. */
function isTrouble(error: unknown): boolean {
  if (error instanceof BadResponseError || error instanceof RequestTooLargeError) return false;
  return error instanceof ApiUnavailableError;
}

async function send<T>(
  chain: AttemptContext,
  call: Call<T> & { readonly flight: Flight },
  number: number,
  signal: AbortSignal,
): Promise<Exchange<T>> {
  const { flight } = call;
  const sentAt = chain.clock.monotonic();
  const elapsed = () => chain.clock.monotonic() - sentAt - flight.waitedMs;
  flight.sent();
  chain.count(call.priority, 'requests', 1);
  const received = await chain.transport.send(call.outgoing, signal, {
    onHead: (head) => report(chain, call, head, elapsed()),
    beforeBody: (ended) => flight.arrived(ended),
  });
  const ms = elapsed();
  log(chain, call, received, { attempt: number, ms });
  const value = await readResponse(chain, call, received, signal);
  chain.facts.answered(call.route);
  const { path, query, limit } = call;
  const { status, bytes, apiVersion } = received;
  return { value, request: { path, query, limit }, status, bytes, ms, attempts: number, apiVersion };
}

/** Nothing of a body goes further with the key in it, in whichever form a server repeats it. */
async function readResponse<T>(
  chain: AttemptContext,
  call: Call<T> & { readonly flight: Flight },
  received: ApiResponse,
  signal: AbortSignal,
): Promise<T> {
  const { flight, limit } = call;
  await flight.turn();
  if (received.status !== 200) {
    const text = chain.withoutKey(received.body.toString());
    keep(chain, call, received, text);
    throw refusalOf(chain, call, received, { status: received.status, text });
  }
  const body = chain.key.mayBeIn(received.body)
    ? Buffer.from(chain.key.without(received.body.toString()))
    : received.body;
  if (chain.recorder !== undefined) keep(chain, call, received, body.toString());
  try {
    if (call.readBytes !== undefined) return await call.readBytes(body, { limit, turn: () => flight.turn() });
    return await parse(chain, call, received, body);
  } catch (error) {
    signal.throwIfAborted();
    return refuseBody(chain, call, error);
  }
}

/** Reports to the budget as soon as the status is known, so that a 429 stops the others before its body is read. */
async function report<T>(
  chain: AttemptContext,
  call: Call<T>,
  head: ResponseHead,
  elapsedMs: number,
): Promise<void> {
  if (head.status === 429) chain.count(call.priority, 'refused', 1);
  if (head.status === 429 || (head.status >= 500 && head.retryAfterMs !== undefined)) {
    await chain.budget.refused(head.retryAfterMs, elapsedMs);
  } else {
    await chain.budget.succeeded(elapsedMs);
  }
}

function log<T>(
  chain: AttemptContext,
  { path, priority }: Call<T>,
  { status, bytes }: ApiResponse,
  { attempt: number, ms }: { attempt: number; ms: number },
): void {
  const fields: Attempt = { path, priority, status, ms: Math.round(ms), bytes, attempt: number };
  chain.count(priority, 'bytes', bytes);
  chain.logger.debug(fields, 'request');
  chain.onExchange?.(fields);
}

function keep<T>(
  chain: AttemptContext,
  { path, query }: Call<T>,
  { status, apiVersion }: ApiResponse,
  text: string,
): void {
  chain.recorder?.record({ path, query, status, apiVersion, text });
}

function refusalOf<T>(
  chain: AttemptContext,
  call: Call<T>,
  { retryAfterMs, apiVersion }: ApiResponse,
  { status, text }: { readonly status: number; readonly text: string },
): EtlError {
  const error = errorOfStatus({
    status,
    body: text,
    label: call.outgoing.label,
    path: call.path,
    host: chain.host,
    retryAfterMs,
    apiVersion,
  });
  // One of several servers may be of an older build, or being deployed.
  return error instanceof NoEndpointError && chain.facts.mayAnswer(call.route)
    ? new ApiFailedError(error.message, error.hint === undefined ? {} : { hint: error.hint })
    : error;
}

async function parse<T>(
  chain: AttemptContext,
  call: Extract<Call<T>, { readonly readBytes?: never }> & { readonly flight: Flight },
  received: ApiResponse,
  body: Buffer,
): Promise<T> {
  const text = body.toString();
  const parsed = parseBody(text, body);
  await call.flight.turn();
  if (!call.envelope) return call.parse(parsed, call.limit);
  const opened = openEnvelope(parsed);
  if (!opened.ok) throw refusalOf(chain, call, received, { status: opened.status, text });
  return call.parse(opened.result, call.limit);
}

/** Reading or writing deeply nested JSON exhausts the stack. */
function isTooDeep(error: unknown): boolean {
  return error instanceof RangeError && /call stack/i.test(error.message);
}

/** What no response causes: the page is refused as a bad one, so that it does not end a daemon, and the log says why. */
function isBug(error: unknown): boolean {
  return error instanceof TypeError || error instanceof ReferenceError;
}

function refuseBody<T>(chain: AttemptContext, call: Call<T>, error: unknown): never {
  if (error instanceof EtlError && !(error instanceof BadResponseError)) throw error;
  const reason = isTooDeep(error)
    ? 'values are nested too deep to be read'
    : chain.withoutKey(summary(error));
  // No cause: a ZodError prints every issue of a page.
  throw new BadResponseError(`${call.outgoing.label}: the response is not the endpoint's: ${reason}`, {
    hint: isBug(error)
      ? 'This is a bug of toncenter-etl: please report it with this message.'
      : 'A proxy may answer for the API, or the API has changed: look at the response with curl.',
  });
}
