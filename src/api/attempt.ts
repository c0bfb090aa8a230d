import type { Strings } from '../dataset/strings.ts';
import type { Budget } from '../budget/budget.ts';
import type { Clock } from '../clock.ts';
import {
  ApiUnavailableError,
  BadResponseError,
  EtlError,
  NoEndpointError,
  RequestTooLargeError,
} from '../errors.ts';
import type { Flight } from '../budget/flight.ts';
import type { InFlight } from '../budget/in-flight.ts';
import type { Logger } from '../logger.ts';
import type { Priority } from '../budget/priority.ts';
import type { Recorder } from './recorder.ts';
import type { Attempt, Exchange } from './exchange.ts';
import { readBody, type BodyText } from './response/body-text.ts';
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
import { giveMemory } from '../spare-memory.ts';

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
export interface Call<T> extends Prepared {
  readonly priority: Priority;
  /** The caller's own, who ends it. */
  readonly flight?: Flight | undefined;
  readonly parse: (body: unknown, strings: Strings, limit: number | undefined) => T;
  /** The rows that it asks for, where it says. */
  readonly limit: number | undefined;
  /** How `parse` would have the strings of the body. */
  readonly strings?: Strings | undefined;
  /** Reads a body in place of `parse`, where it is not to be recorded. */
  readonly readBytes?: ReadBytes<T> | undefined;
  /** Attempts at what may never be answered well; left out: as many as usual. */
  readonly attemptsInDoubt?: number | undefined;
  /** True where the body is v2's envelope and `parse` reads its result. */
  readonly envelope: boolean;
}

/**
 * Reads a body by its bytes, which are gone when it is done. What it throws makes the response a bad one, as what `parse`
 * throws.
 */
export type ReadBytes<T> = (body: Buffer, how: BytesReading) => Promise<T>;

export interface BytesReading {
  readonly limit: number | undefined;
  /** Waits until it may take its time in this thread: see `Flight.turn`. */
  readonly turn: () => Promise<void>;
  /** Reads while nothing else is read in this thread: see `Flight.alone`. */
  readonly alone: <Page>(read: () => Promise<Page>) => Promise<Page>;
  /** What data may not hold. */
  readonly key: KeyGuard;
}

/** A response whose body was read. */
type ReadResponse = ApiResponse & BodyText;

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
    beforeReading: (ended) => flight.received(ended),
  });
  const ms = elapsed();
  log(chain, call, received, { attempt: number, ms });
  const value = await readResponse(chain, call, received, signal);
  chain.facts.answered(call.route);
  giveMemory(received.body.buffer);
  const { path, query, limit } = call;
  const { status, bytes, apiVersion } = received;
  return { value, request: { path, query, limit }, status, bytes, ms, attempts: number, apiVersion };
}

/** Reads a response by its bytes, or as text where somebody has to see it. */
async function readResponse<T>(
  chain: AttemptContext,
  call: Call<T> & { readonly flight: Flight },
  received: ApiResponse,
  signal: AbortSignal,
): Promise<T> {
  const { readBytes, limit, strings = 'text' } = call;
  const { body } = received;
  if (received.status === 200 && readBytes !== undefined && chain.recorder === undefined) {
    const how: BytesReading = {
      limit,
      turn: () => call.flight.turn(),
      alone: (read) => call.flight.alone(signal, read),
      key: chain.key,
    };
    return readBytes(body, how).catch((error: unknown) => {
      signal.throwIfAborted();
      return refuseBody(chain, call, error);
    });
  }
  await call.flight.turn();
  const read = readBody(body, received.status === 200 ? strings : 'text');
  const text = received.status === 200 ? chain.key.without(read.text) : chain.withoutKey(read.text);
  const response = { ...received, body, strings: read.strings, text };
  keep(chain, call, response);
  if (response.status !== 200) throw refusalOf(chain, call, response, response.status);
  return parse(chain, call, response);
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
  { status, apiVersion, text, strings }: ReadResponse,
): void {
  chain.recorder?.record({
    path,
    query,
    status,
    apiVersion,
    text: strings === 'text' ? text : Buffer.from(text, 'latin1').toString('utf8'),
  });
}

function refusalOf<T>(
  chain: AttemptContext,
  call: Call<T>,
  response: ReadResponse,
  status: number,
): EtlError {
  const error = errorOfStatus({
    status,
    body: response.text,
    label: call.outgoing.label,
    path: call.path,
    host: chain.host,
    retryAfterMs: response.retryAfterMs,
    apiVersion: response.apiVersion,
  });
  // One of several servers may be of an older build, or being deployed.
  return error instanceof NoEndpointError && chain.facts.mayAnswer(call.route)
    ? new ApiFailedError(error.message, error.hint === undefined ? {} : { hint: error.hint })
    : error;
}

async function parse<T>(
  chain: AttemptContext,
  call: Call<T> & { readonly flight: Flight },
  response: ReadResponse,
): Promise<T> {
  try {
    const body = parseBody(response.text, response.body);
    await call.flight.turn();
    if (!call.envelope) return call.parse(body, response.strings, call.limit);
    const opened = openEnvelope(body);
    if (!opened.ok) throw refusalOf(chain, call, response, opened.status);
    return call.parse(opened.result, response.strings, call.limit);
  } catch (error) {
    return refuseBody(chain, call, error);
  }
}

/** Reading or writing deeply nested JSON exhausts the stack. */
function isTooDeep(error: unknown): boolean {
  return error instanceof RangeError && /call stack/i.test(error.message);
}

function refuseBody<T>(chain: AttemptContext, call: Call<T>, error: unknown): never {
  if (error instanceof EtlError && !(error instanceof BadResponseError)) throw error;
  const reason = isTooDeep(error)
    ? 'values are nested too deep to be read'
    : chain.withoutKey(summary(error));
  // No cause: a ZodError prints every issue of a page.
  throw new BadResponseError(`${call.outgoing.label}: the response is not the endpoint's: ${reason}`, {
    hint: 'A proxy may answer for the API, or the API has changed: look at the response with curl.',
  });
}
