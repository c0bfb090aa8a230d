import { setImmediate } from 'node:timers/promises';
import type { Clock } from '../clock.ts';
import { createPlaces, type ResponsePlace, type Places } from './places.ts';
import type { Priority } from './priority.ts';

/** Bodies at once that are received, or wait to be read: some megabytes each. TCP holds back the others. */
const RECEIVED = 8;
/** Bodies at once that are read and written: several times as much memory, and a connection to the database each. One more for each thread. */
const WORKED_ON = 4;
/** The same of answers that are let go as soon as they are read. */
const BRIEF = { received: 4, workedOn: 2 };
/** Bodies that stand ready for the next place: a page is asked for only when the one before it is read. */
const READY = 2;

/**
 * One request from its send to the commit of its rows; after a failure it may be sent again. Whoever opens it ends it,
 * whatever came of it.
 */
export interface Flight {
  sent(): void;
  /** The status is here: waits for a place to receive the body. Rejects with the signal's reason when that is aborted. */
  arrived(signal: AbortSignal): Promise<void>;
  /** The body is here: waits for a place to work on it. */
  received(signal: AbortSignal): Promise<void>;
  /**
   * Before work that takes milliseconds of CPU: waits until nobody else has it in this turn of the event loop. Between
   * two turns timers are on time, so no slot of the budget passes unused while pages are read.
   */
  turn(): Promise<void>;
  /** The attempt was in vain. `isTrouble`: because the source is overloaded or away. */
  failed(isTrouble: boolean): void;
  /**
   * Reads a body while no other one is read in this thread, the most urgent first. What is made of a page lives until it is
   * read: of several at once it lives for so long that the garbage collector takes it for lasting. Rejects as `received`.
   */
  alone<T>(signal: AbortSignal, read: () => Promise<T>): Promise<T>;
  /** Its rows are written, or nobody wants them. */
  end(): void;
  /** Milliseconds for which the last attempt waited for places. */
  readonly waitedMs: number;
}

/** What memory and the event loop have room for. */
export interface Room {
  readonly received: Places;
  readonly workedOn: Places;
  readonly reading: Places;
  readonly turn: () => Promise<void>;
  /** Under way at once, so many keep the places in use. */
  readonly busy: number;
}

export function createRoom(threads: number, clock: Pick<Clock, 'monotonic'>): Room {
  return {
    received: createPlaces(RECEIVED + threads, clock),
    workedOn: createPlaces(WORKED_ON + threads, clock),
    reading: createPlaces(1, clock),
    turn: createTurns(),
    busy: WORKED_ON + READY + threads,
  };
}

/**
 * A room beside another one, with places of its own: who holds a page until its commit may have to ask for more meanwhile,
 * and pages that hold all places would wait for each other forever.
 */
export function besideRoom(room: Room, clock: Pick<Clock, 'monotonic'>): Room {
  const { received, workedOn } = BRIEF;
  return { ...room, received: createPlaces(received, clock), workedOn: createPlaces(workedOn, clock) };
}

function createTurns(): () => Promise<void> {
  let last = Promise.resolve();
  return () => {
    last = last.then(() => setImmediate());
    return last;
  };
}

/** Milliseconds that one request took. */
export interface AnswerTime {
  /** From its send to the commit, without the waits for places. */
  readonly ms: number;
  /** From its send until its body was here, without them. */
  readonly networkMs: number;
  /** Of these waits. */
  readonly waitedMs: number;
}

interface FlightOptions {
  readonly clock: Pick<Clock, 'monotonic'>;
  readonly room: Room;
  readonly priority: Priority;
  readonly events: {
    readonly sent: () => void;
    readonly answered: (time: AnswerTime) => void;
    readonly failed: () => void;
    /** It ended and says nothing of the source. */
    readonly dropped: () => void;
  };
}

export function createFlight({ clock, room, priority, events }: FlightOptions): Flight {
  let sentAt: number | undefined;
  const waiting = createWaiting(clock, priority);
  // A body that nobody reads: all of its time was the network's.
  let networkMs: number | undefined;
  let place: ResponsePlace | undefined;
  const moveTo = async (places: Places, signal: AbortSignal) => {
    const next = await waiting.take(places, signal);
    place?.free();
    place = next;
  };
  const sinceSent = () => clock.monotonic() - (sentAt ?? clock.monotonic()) - waiting.ms;
  const land = (tell: (time: AnswerTime) => void) => {
    place?.free();
    place = undefined;
    if (sentAt === undefined) return;
    const ms = sinceSent();
    sentAt = undefined;
    tell({ ms, networkMs: networkMs ?? ms, waitedMs: waiting.ms });
  };
  return {
    sent: () => {
      [sentAt, networkMs, waiting.ms] = [clock.monotonic(), undefined, 0];
      events.sent();
    },
    arrived: (signal) => moveTo(room.received, signal),
    received: (signal) => {
      networkMs = sinceSent();
      return moveTo(room.workedOn, signal);
    },
    turn: room.turn,
    alone: async (signal, read) => {
      const reading = await waiting.take(room.reading, signal);
      try {
        return await read();
      } finally {
        reading.free();
      }
    },
    failed: (isTrouble) => {
      land(isTrouble ? events.failed : events.dropped);
    },
    end: () => {
      land(events.answered);
    },
    get waitedMs() {
      return waiting.ms;
    },
  };
}

/** Waits for places, and how many milliseconds they took. */
function createWaiting({ monotonic }: Pick<Clock, 'monotonic'>, priority: Priority) {
  const waiting = {
    ms: 0,
    take: async (places: Places, signal: AbortSignal): Promise<ResponsePlace> => {
      const began = monotonic();
      const place = await places.take(priority, signal);
      waiting.ms += monotonic() - began;
      return place;
    },
  };
  return waiting;
}
