import { systemClock, type Clock } from '../../clock.ts';
import type { Faults } from '../faults.ts';
import type { Head, HeadOptions } from '../head.ts';
import type { Ledger } from '../ledger.ts';
import type { ChainOptions } from '../network/chain/options.ts';
import { ChainSource } from '../network/chain-source.ts';
import { Random } from '../random.ts';
import { CorpusSource } from '../recorded/corpus/corpus-ledger.ts';
import { isRecording } from '../recorded/recording/read-recording.ts';
import { Recording } from '../recorded/recording/recording.ts';
import { Api, type Answering, type ApiOptions } from './api.ts';
import { RequestLog } from './simulator-stats.ts';

export interface SiteOptions extends ChainOptions, HeadOptions, ApiOptions {
  readonly faults?: Faults;
  /** Serves the recorded data of this directory instead of a generated network: a corpus, or what `--record` wrote. */
  readonly corpus?: string;
  readonly clock?: Clock;
}

/** The data that a host serves, and the server that serves them. */
export interface Site {
  readonly head: Head;
  readonly answering: Answering;
  /** What a recording holds, a line each; empty for anything else. */
  readonly contents: readonly string[];
  readonly faults: Faults;
  readonly clock: Clock;
  readonly stats: RequestLog;
}

/** Opens a recording, a corpus or a generated network, as the options say. */
export function openSite(options: SiteOptions): Site {
  const { corpus } = options;
  const parts = partsOf(options);
  if (corpus === undefined) {
    const source = new ChainSource(options, parts.faults, parts.clock);
    return siteOf(source, source.ledger, options, parts);
  }
  if (isRecording(corpus)) {
    const recording = new Recording(corpus);
    const head = standingAt(recording.latest);
    return { ...parts, head, answering: recording, contents: recording.contents };
  }
  const source = new CorpusSource(corpus, parts.clock);
  return siteOf(source, source.ledger, options, parts);
}

type Parts = Pick<Site, 'faults' | 'clock' | 'stats'>;

export function partsOf(options: SiteOptions): Parts {
  return { faults: options.faults ?? {}, clock: options.clock ?? systemClock, stats: new RequestLog() };
}

/** The site that imitates the server over a ledger. */
export function siteOf(head: Head, ledger: Ledger, options: SiteOptions, parts: Parts): Site {
  const answering = new Api(ledger, options, { ...parts, random: new Random(options.seed ?? 1, 5) });
  return { ...parts, head, answering, contents: [] };
}

/** A recording is served as it is: all of it is visible, always. */
function standingAt(headTime: number): Head {
  const view = { headTime, head: undefined, seesMasterchain: () => true };
  return { headTime, view: () => view };
}
