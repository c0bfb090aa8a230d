import type { Exchange } from '../../api/exchange.ts';
import type { Flight } from '../../budget/in-flight.ts';
import type { Params } from '../../dataset/paginators/paginator.ts';
import { BadResponseError } from '../../errors.ts';
import { mapsOf, recordsOf } from './parse-response.ts';
import { nameOf, type WalkContext } from './walk-context.ts';

/** A response: its records as they came, and the maps that came with them. */
export interface Answered {
  readonly records: readonly unknown[];
  readonly maps: Readonly<Record<string, unknown>>;
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
      return { records, maps: mapsOf(walk.endpoint, walk.shape, body) };
    },
  };
  const { endpoint } = walk;
  return walkContext.turns.ask(nameOf(walkContext), () =>
    'path' in endpoint
      ? context.api.get({ ...request, path: endpoint.path })
      : context.api.call({ ...request, method: endpoint.method }),
  );
}
