/** What an API's plan allows. */
export interface Plan {
  /** Requests a second; may be below 1. */
  readonly rps: number;
}

/** When the next request may go out. Times are milliseconds of one monotonic clock. */
export interface Pace {
  /** The earliest time for the next request; in the past where it may go out now. */
  next(): number;
  /** A request goes out at `now`; whoever sends it has waited since `since`. */
  sent(now: number, since: number): void;
  /** The server answered, with anything but a refusal, what went out `elapsedMs` before `now`. */
  answered(now: number, elapsedMs: number): void;
  /** The server refused, and named a pause or did not. */
  refused(now: number, retryAfterMs: number | undefined): void;
}

interface Sent {
  readonly at: number;
  /** The server has counted it by then. */
  countedBy: number;
}

/** Timers fire late by up to this, and a server's clock has milliseconds too. */
const MARGIN_MS = 3;
/** How much later than the others a request may arrive, where no answer has told yet: 1.2 % with the margin. */
const LEAST_SLACK_MS = 9;
const MOST_SLACK_MS = 100;
/** While answers take less than this in the mean, waiting for them costs next to nothing, so slack is at its most. */
const QUICK_MS = 25;
const MEAN_WEIGHT = 0.05;
/** Back from most to least in some twenty thousand requests: half an hour at 10 a second. */
const SLACK_STEP_MS = 0.005;
/** Delays are caught up at double pace, but none older than this. */
const CATCH_UP_MS = 500;

const SLOWER = 0.7;
const LEAST_FACTOR = 0.05;
/** Part of the plan's rate that a second of success gives back. */
const FASTER_PER_SECOND = 0.005;
const FIRST_PAUSE_MS = 1000;
const LONGEST_PAUSE_MS = 30_000;

/**
 * The pace of one process under a plan of N requests in any second, whatever kind of counter the server has (a fixed
 * window, a sliding one, a bucket of N tokens). Two rules, both must hold:
 *
 * - slots: sends lie one interval apart (GCRA, ITU-T I.371, with burst 0), so that they arrive evenly. What a busy event
 *   loop delays is caught up, at most at double pace;
 * - window: a second before a send, fewer than N requests were still on their way to the server's counter. A request
 *   has surely been counted when it is answered; where the answer takes longer, `slack` after its send is taken for
 *   it. So no N+1 arrivals fall into one second, as long as none is later than that.
 *
 * A refusal has two causes. Arrivals may bunch (network, busy server): `slack` widens, and shrinks again slowly. Or the
 * plan is smaller, or shared: on the third refusal the rate falls by a factor, and rises again by steps.
 * Both pause everybody, for as long as the server says, else a second, doubled while it goes on.
 */
export function createPace({ rps }: Plan): Pace {
  const perWindow = Math.max(1, Math.floor(rps));
  const windowMs = (1000 * perWindow) / rps;
  let log: Sent[] = [];
  let slack = LEAST_SLACK_MS;
  let meanAnswer = 0;
  let factor = 1;
  let slot = -Infinity;
  let lastSent = -Infinity;
  let pausedUntil = -Infinity;
  let lastRefused = -Infinity;
  let refusals = 0;

  const window = () => windowMs / factor + MARGIN_MS;
  const interval = () => window() / perWindow;
  const windowOpens = () => {
    if (log.length < perWindow) return -Infinity;
    const counted = log.map((sent) => sent.countedBy).sort((a, b) => b - a);
    return (counted[perWindow - 1] ?? -Infinity) + window();
  };
  return {
    next: () => Math.max(slot, lastSent + interval() / 2, windowOpens(), pausedUntil),
    sent: (now, since) => {
      slot = Math.max(slot, since, now - CATCH_UP_MS) + interval();
      lastSent = now;
      log = log.filter((sent) => sent.countedBy + window() > now);
      log.push({ at: now, countedBy: now + (meanAnswer < QUICK_MS ? MOST_SLACK_MS : slack) });
    },
    answered: (now, elapsedMs) => {
      const sentAt = now - elapsedMs;
      // The slot was taken at the very moment of the send, so it is the last one until then.
      const sent = log.findLast(({ at }) => at <= sentAt);
      if (sent !== undefined) sent.countedBy = Math.min(sent.countedBy, now);
      if (sentAt > lastRefused) refusals = 0;
      meanAnswer += (Math.min(elapsedMs, MOST_SLACK_MS) - meanAnswer) * MEAN_WEIGHT;
      slack = Math.max(LEAST_SLACK_MS, slack - SLACK_STEP_MS);
      factor = Math.min(1, factor + FASTER_PER_SECOND / (rps * factor));
    },
    refused: (now, retryAfterMs) => {
      // Several refusals at once are one event: those that were under way when the first came back.
      const news = now >= pausedUntil;
      if (news) {
        refusals += 1;
        if (slack > MOST_SLACK_MS / 2) factor = Math.max(LEAST_FACTOR, factor * SLOWER);
        slack = Math.min(MOST_SLACK_MS, 3 * slack + 15);
      }
      lastRefused = now;
      const pause =
        retryAfterMs ?? (news ? Math.min(LONGEST_PAUSE_MS, FIRST_PAUSE_MS * 2 ** (refusals - 1)) : 0);
      pausedUntil = Math.max(pausedUntil, now + pause);
      slot = Math.max(slot, pausedUntil);
    },
  };
}
