import type { Store } from '../app.ts';
import { FINISHING_MS, type Stop, stopOnSignals } from '../stop.ts';
import type { ExitCode } from '../errors.ts';
import { openSource } from '../source.ts';
import type { Invocation } from './command.ts';
import { withStore } from './with-store.ts';

/** What a command that asks the API is given to work with. */
export interface Opened {
  readonly store: Store;
  /** The API's host, of which `demo` is a simulator in this process. */
  readonly baseUrl: string;
  readonly stop: Stop;
}

interface Needs {
  /** Which network `demo` means. */
  readonly demo: 'still' | 'live';
  readonly applicationName?: string;
  readonly deadlineMs?: number | undefined;
}

/** A longer timer would fire at once. */
const LONGEST_TIMER_MS = 2 ** 31 - 1;

/** Opens the database and the API's host, lets a command work with them, and closes both however it ends. */
export async function withSource(
  { config, logger }: Invocation,
  { demo, applicationName, deadlineMs }: Needs,
  work: (opened: Opened) => Promise<ExitCode>,
): Promise<ExitCode> {
  const signals = stopOnSignals(logger);
  const stop = withDeadline(signals, deadlineMs);
  try {
    return await withStore({ config, logger }, applicationName, async (store) => {
      const source = await openSource(config, store, demo);
      try {
        return await work({ store, baseUrl: source.baseUrl, stop });
      } finally {
        await source.close();
      }
    });
  } finally {
    signals.dispose();
  }
}

/** At the deadline the page in hand may be finished, as at a first Ctrl-C; an API that is away would hold it for long. */
function withDeadline(stop: Stop, ms: number | undefined): Stop {
  if (ms === undefined) return stop;
  return {
    finishing: endedAfter(stop.finishing, ms),
    leaving: endedAfter(stop.leaving, ms + FINISHING_MS),
  };
}

/** Timer and controller of our own: Node 20 may collect an `AbortSignal.timeout` that only a combined signal holds. */
function endedAfter(signal: AbortSignal, ms: number): AbortSignal {
  const controller = new AbortController();
  const end = () => controller.abort();
  setTimeout(end, Math.min(ms, LONGEST_TIMER_MS)).unref();
  signal.addEventListener('abort', end, { once: true });
  return controller.signal;
}
