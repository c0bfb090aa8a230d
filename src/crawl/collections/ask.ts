import * as z from 'zod';
import type { Exchange } from '../../api/exchange.ts';
import type { Flight } from '../../budget/in-flight.ts';
import type { Params } from '../../dataset/paginators/paginator.ts';
import { BadResponseError } from '../../errors.ts';
import { nameOf, type WalkContext } from './walk-context.ts';
import type { ResponseReading, WalkEndpoint, ResponseShape } from '../../dataset/walk.ts';

/** A response: its records as they came, and the maps that came with them. */
export interface Answered {
  readonly records: readonly unknown[];
  readonly maps: Readonly<Record<string, unknown>>;
  /** When it came, ISO 8601. */
  readonly at: string;
}

export type WalkResponse = Exchange<Answered>;

export interface AskOptions {
  /** If it returns false, the response is bad and the request is retried. */
  readonly isWhole?: (records: readonly unknown[]) => boolean;
  /** If omitted, the response gives its memory slot back as soon as it is read. */
  readonly flight?: Flight;
  /** Attempts if the request may never succeed. If omitted, as many as usual. */
  readonly attemptsInDoubt?: number | undefined;
}

/** Asks the walk's endpoint. */
export async function ask(
  walkContext: WalkContext,
  params: Params,
  { isWhole = () => true, flight, attemptsInDoubt }: AskOptions = {},
): Promise<WalkResponse> {
  const { context, walk, network, choices, priority, stop } = walkContext;
  await network.confirm();
  await context.disk.wait(stop.finishing);
  const request = {
    params: { ...walk.params(choices), ...params },
    priority,
    flight,
    attemptsInDoubt,
    signal: stop.leaving,
    parse: (body: unknown): Answered => {
      const records = recordsOf(walk.shape, body);
      if (!isWhole(records)) throw new BadResponseError('the response was cut short');
      const at = new Date(context.clock.now()).toISOString();
      return { records, maps: mapsOf(walk.endpoint, walk.shape, body), at };
    },
  };
  const { endpoint } = walk;
  return walkContext.turns.ask(nameOf(walkContext), () =>
    'path' in endpoint
      ? context.api.get({ ...request, path: endpoint.path })
      : context.api.call({ ...request, method: endpoint.method }),
  );
}

/**
 * Reads a response's records by the walk's rules. `key`: the subject that was asked for; `first`: the rank of
 * the first record.
 */
export function readResponseRecords(
  { walk }: Pick<WalkContext, 'walk'>,
  { value: { records, at } }: WalkResponse,
  key: string,
  first = 0,
): ResponseReading {
  return walk.read(records, { at, key }, first);
}

const Body = z.record(z.string(), z.unknown());
const List = z.array(z.unknown());

/** The records of a body, as they came. */
export function recordsOf(shape: ResponseShape, body: unknown): unknown[] {
  if (shape === 'one') return [body];
  if (shape === 'array') return List.parse(body);
  if (shape === 'map') return entriesOf(body);
  const member = Body.parse(body)[shape.member];
  if (member === undefined) throw new BadResponseError(`the response has no ${shape.member}`);
  return member === null ? [] : List.parse(member);
}

/** A map's values, each with its key as `address`. */
export function entriesOf(map: unknown): unknown[] {
  return Object.entries(Body.parse(map)).map(([address, entry]) => ({ address, ...Body.parse(entry) }));
}

/** The maps that v3 sends with its records: names and token data of the addresses in them. */
function mapsOf(
  endpoint: WalkEndpoint,
  shape: ResponseShape,
  body: unknown,
): Readonly<Record<string, unknown>> {
  return 'path' in endpoint && typeof shape === 'object' ? Body.parse(body) : {};
}
