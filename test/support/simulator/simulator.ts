import { UsageError } from '../../../src/errors.ts';
import type { HttpResponse } from '../../../src/simulator/http/response.ts';
import type { Answering, ApiRequest } from '../../../src/simulator/http/api.ts';
import {
  serveSite,
  type Simulator as ServedSimulator,
  type SimulatorOptions as ServedOptions,
  openSite,
  partsOf,
  siteOf,
  type Site,
  Chain,
  ChainSource,
} from '../../../src/simulator/http/server.ts';
import { prebuild } from './prebuilt.ts';
import { Truth } from './truth.ts';

export interface SimulatorOptions extends ServedOptions {
  /** Responds in place of the server, behind the gateway; undefined leaves the request to the server. */
  readonly before?: (request: ApiRequest) => HttpResponse | undefined;
  /** Changes a response of the server. */
  readonly after?: (request: ApiRequest, response: HttpResponse) => HttpResponse;
  /** If true, the JSON of all transactions is made at the start and kept in a file, for benchmarks. Not with `live`. */
  readonly prebuilt?: boolean;
}

/** A running simulator that also returns the truth of its network. */
export interface Simulator extends ServedSimulator {
  /** The whole generated network, whatever faults hide of it; empty if recorded data are served. */
  readonly truth: Truth;
}

/** Serves a network on 127.0.0.1, as the product does, and changes its responses on request. */
export async function startSimulator(options: SimulatorOptions = {}): Promise<Simulator> {
  const { chain, site, dispose } = open(options);
  const simulator = await serveSite({ ...site, answering: changed(site.answering, options) }, options);
  const stop = simulator.close.bind(simulator);
  const close = () => stop().finally(dispose);
  return Object.assign(simulator, { truth: new Truth(chain), close });
}

function changed(answering: Answering, { before, after }: SimulatorOptions): Answering {
  return {
    answer(request, views) {
      const custom = before?.(request);
      if (custom !== undefined) return custom;
      const response = answering.answer(request, views);
      return after?.(request, response) ?? response;
    },
  };
}

interface Opened {
  readonly chain: Chain;
  readonly site: Site;
  readonly dispose: () => void;
}

function open(options: SimulatorOptions): Opened {
  const dispose = () => undefined;
  if (options.corpus !== undefined) return { chain: new Chain(), site: openSite(options), dispose };
  const parts = partsOf(options);
  const source = new ChainSource(options, parts.faults, parts.clock);
  const { chain } = source;
  if (options.prebuilt !== true)
    return { chain, site: siteOf(source, source.ledger, options, parts), dispose };
  if (options.live !== undefined)
    throw new UsageError('A live network grows: its responses cannot be made in advance.');
  const prebuilt = prebuild(source.ledger);
  return { chain, site: siteOf(source, prebuilt.ledger, options, parts), dispose: prebuilt.dispose };
}
