import type { Clock } from '../clock.ts';
import { besideRoom, createFlight, createRoom, type AnswerTime, type Flight } from './flight.ts';
import type { Priority } from './priority.ts';

/** More than this is not under way at once, however slow the source: 25 requests a second at three seconds each. */
export const MOST_IN_FLIGHT = 120;
/** One request on its way while the rows of another are written. */
const LEAST = 2;
/** Before anything was answered: no more than this, and as many as answers in half a second need. */
const START = 8;
const FIRST_CYCLE_MS = 500;
/** For answers that take longer than the mean, the time between two leases, and some that wait for the next slot. */
const HEADROOM = 1.5;
/** Of its share that a process must have had under way for a round to say what the source can do. */
const FULL = 0.8;
/** Of the allowed rate: with this nothing is left to be gained. */
const ENOUGH = 0.95;
/** By how much the target may grow in one round, until the source has shown a limit, and afterwards. */
const STEPS = { bold: 4, careful: 1.25 } as const;
/** What a step up must bring at least, or it is taken back. */
const GAIN = 1.1;
/** Rounds without another step after one that was taken back. */
const HOLD_ROUNDS = 16;
/** A round in which more than this part failed makes the target smaller, to this part of it. */
const MOST_FAILED = 1 / 8;
const CUT = 0.7;
/** Answers that make a round, at least. */
const SHORTEST_ROUND = 4;

/**
 * How many requests should be under way at once: as many as the network needs to use the rate that is allowed, learned
 * from how long they take, and no more than the source takes.
 */
export interface InFlight extends Shares {
  /** Of all processes. From the send of a request to the commit of its rows, without the wait for a slot of the budget. */
  readonly target: number;
  /** How many are. */
  readonly underWay: number;
  /** How many of them are answered, and are being read or written. */
  readonly workedOn: number;
  /**
   * A request that is about to be sent. Its place in memory is given to the most urgent first. `isBrief`: its answer is let
   * go as soon as it is read, and nothing else is asked for meanwhile. Default: false.
   */
  open(priority: Priority, isBrief?: boolean): Flight;
}

/** What other processes have under way. */
export interface OtherReaders {
  readonly requests: number;
  readonly processes: number;
}

/** The part of the target that is this process's own. */
interface Shares {
  /** What others leave of it, and an even part at least. */
  share(): number;
  /** An even part, for each process that reads. */
  evenShare(): number;
  /** Who else sends requests just now. */
  beside(others: OtherReaders): void;
  /** What was last said of them; `isIdle`: they read all that is left, and nothing is to be done here. */
  readonly others: OtherReaders & { readonly isIdle: boolean };
  /** Tells whether all that is left is in other processes' hands. */
  rest(isIdle: boolean): void;
}

interface InFlightOptions {
  /** Requests a second that the plan allows. */
  readonly rps: number;
  readonly clock: Pick<Clock, 'monotonic'>;
  /** Threads that read pages beside this one. */
  readonly threads?: number;
}

const NO_TIME: AnswerTime = { ms: 0, networkMs: 0, waitedMs: 0 };

interface AnswerRound {
  readonly began: number;
  answered: number;
  failed: number;
  /** Milliseconds of all that were answered, from the send to the commit. */
  ms: number;
  /** The part of them until the bodies were here. */
  networkMs: number;
  /** Milliseconds for which they waited for a place in memory, which `ms` leaves out. */
  waitedMs: number;
  most: number;
}

/**
 * The target is rate times time. Requests whose answers wait for a place here are not worth sending: there are few more than
 * the others. What keeps the target from following an overloaded source up is the rule by which BBR finds that a pipe is
 * full (Cardwell and others, "BBR: Congestion-Based Congestion Control",
 * 2016): a step up that brings no more answers a second is taken back. Failures make it smaller, as a lost packet does
 * in TCP.
 */
export function createInFlight({ rps, clock, threads = 0 }: InFlightOptions): InFlight {
  const room = createRoom(threads, clock);
  const brief = besideRoom(room, clock);
  let [target, underWay] = [Math.min(START, wantedFor(rps, FIRST_CYCLE_MS)), 0];
  const shares = createShares(() => target);
  let round = newRound(clock.monotonic(), underWay);
  const judge = createJudge(rps, room.busy);
  const end = (answered: number, time: AnswerTime) => {
    underWay -= 1;
    round.answered += answered;
    round.failed += 1 - answered;
    addTime(round, time);
    // As many answers as a whole target, however small the share: what few of them say of the rate is chance.
    if (round.answered + round.failed < Math.max(SHORTEST_ROUND, target)) return;
    const now = clock.monotonic();
    target = judge(
      { ...round, isFull: round.most >= FULL * shares.share() },
      target,
      (now - round.began) / 1000,
    );
    round = newRound(now, underWay);
  };
  const events = {
    sent: () => {
      underWay += 1;
      round.most = Math.max(round.most, underWay);
    },
    answered: (time: AnswerTime) => {
      end(1, time);
    },
    failed: () => {
      end(0, NO_TIME);
    },
    dropped: () => {
      underWay -= 1;
    },
  };
  return {
    ...shares,
    get others() {
      return shares.others;
    },
    get target() {
      return target;
    },
    get underWay() {
      return underWay;
    },
    get workedOn() {
      return room.workedOn.taken;
    },
    open: (priority, isBrief = false) =>
      createFlight({ clock, room: isBrief ? brief : room, priority, events }),
  };
}

function createShares(target: () => number): Shares {
  let others: OtherReaders = { requests: 0, processes: 0 };
  let isIdle = false;
  const evenShare = () => Math.ceil(target() / (1 + others.processes));
  return {
    evenShare,
    share: () => Math.max(target() - others.requests, evenShare()),
    beside: (readers) => {
      others = readers;
    },
    get others() {
      return { ...others, isIdle };
    },
    rest: (value) => {
      isIdle = value;
    },
  };
}

function newRound(began: number, most: number): AnswerRound {
  return { began, answered: 0, failed: 0, ...NO_TIME, most };
}

function addTime(round: AnswerRound, { ms, networkMs, waitedMs }: AnswerTime): void {
  round.ms += ms;
  round.networkMs += networkMs;
  round.waitedMs += waitedMs;
}

/** Little's law, with headroom: how many at once use the rate where each takes so long. */
function wantedFor(rps: number, cycleMs: number): number {
  const wanted = Math.ceil((rps * cycleMs * HEADROOM) / 1000) + 1;
  return Math.min(MOST_IN_FLIGHT, Math.max(LEAST, wanted));
}

/** How many of those under way did not wait for a place here, with headroom; `least` keep the places here in use. */
function usefulOf({ answered, ms, waitedMs }: AnswerRound, target: number, least: number): number {
  if (answered === 0) return target + 1;
  return Math.max(least, Math.ceil((HEADROOM * target * ms) / Math.max(1, ms + waitedMs)));
}

/** A round that is over; full: nearly the whole share was under way. */
type JudgedRound = AnswerRound & { readonly isFull: boolean };

/** Says after each round what the next target is. `busy`: how many keep this process busy. */
function createJudge(
  rps: number,
  busy: number,
): (round: JudgedRound, target: number, seconds: number) => number {
  let cycleMs: number | undefined;
  let raised: { readonly from: number; readonly rate: number } | undefined;
  let step: number = STEPS.bold;
  // Where the network takes the smaller part of the time, more at once may only make it longer.
  const stepOf = ({ ms, networkMs }: AnswerRound) => (networkMs > ms / 2 ? step : STEPS.careful);
  let hold = 0;
  const wantedAfter = ({ answered, ms }: AnswerRound) => {
    if (answered > 0) cycleMs = cycleMs === undefined ? ms / answered : (cycleMs + ms / answered) / 2;
    return wantedFor(rps, cycleMs ?? 0);
  };
  return (round, target, seconds) => {
    const wanted = wantedAfter(round);
    const rate = round.answered / Math.max(0.001, seconds);
    const before = raised;
    raised = undefined;
    if (round.failed > MOST_FAILED * (round.answered + round.failed)) {
      step = STEPS.careful;
      return Math.max(LEAST, Math.floor(CUT * Math.min(target, wanted)));
    }
    const most = Math.min(wanted, usefulOf(round, target, busy));
    if (most <= target) return most;
    if (!round.isFull || rate >= ENOUGH * rps) {
      raised = before;
      return target;
    }
    if (before !== undefined && rate < GAIN * before.rate) {
      step = STEPS.careful;
      hold = HOLD_ROUNDS;
      return before.from;
    }
    hold -= 1;
    if (hold > 0) return target;
    raised = { from: target, rate };
    return Math.min(wanted, Math.ceil(stepOf(round) * target));
  };
}
