import { expect, it } from 'vitest';
import { createInFlight } from '../../src/budget/in-flight.ts';
import type { Priority } from '../../src/budget/priority.ts';
import { systemClock } from '../../src/clock.ts';

const NEVER = new AbortController().signal;

/** Reads pages, all asked for at once, each in three turns. Returns what happened, in order. */
async function readAll(priorities: readonly Priority[]): Promise<string[]> {
  const inFlight = createInFlight({ rps: 1, clock: systemClock });
  const events: string[] = [];
  await Promise.all(
    priorities.map(async (priority, index) => {
      const flight = inFlight.open(priority);
      await flight.alone(NEVER, async () => {
        events.push(`${index} begins`);
        for (let turn = 0; turn < 3; turn += 1) await flight.turn();
        events.push(`${index} ends`);
      });
      flight.end();
    }),
  );
  return events;
}

it('reads one body after another, the most urgent first', async () => {
  expect(await readAll(['backfill', 'backfill', 'tail'])).toEqual([
    ...['0 begins', '0 ends'],
    ...['2 begins', '2 ends'],
    ...['1 begins', '1 ends'],
  ]);
});

it('reads the next one where one cannot be read, and waits no longer than the signal lets it', async () => {
  const inFlight = createInFlight({ rps: 1, clock: systemClock });
  const [broken, left, next] = [
    inFlight.open('backfill'),
    inFlight.open('backfill'),
    inFlight.open('backfill'),
  ];
  const leaving = new AbortController();
  const reading = broken.alone(NEVER, async () => {
    await broken.turn();
    leaving.abort(new Error('leaving'));
    await broken.turn();
    throw new Error('no page');
  });
  const waiting = left.alone(leaving.signal, () => Promise.resolve('read'));
  await expect(waiting).rejects.toThrow('leaving');
  await expect(reading).rejects.toThrow('no page');
  expect(await next.alone(NEVER, () => Promise.resolve('read'))).toBe('read');
});

it('answers who asks for more while pages hold all places', async () => {
  const inFlight = createInFlight({ rps: 1, clock: systemClock });
  const isOpen = async (isBrief: boolean) => {
    const flight = inFlight.open('backfill', isBrief);
    const late = AbortSignal.timeout(50);
    return flight.arrived(late).then(
      () =>
        flight.received(late).then(
          () => flight,
          () => undefined,
        ),
      () => undefined,
    );
  };
  const pages = [];
  for (let page = await isOpen(false); page !== undefined; page = await isOpen(false)) pages.push(page);
  expect(pages.length).toBeGreaterThanOrEqual(2);
  for (let more = 0; more < 10; more += 1) {
    const brief = await isOpen(true);
    expect(brief).toBeDefined();
    brief?.end();
  }
  pages[0]?.end();
  expect(await isOpen(false)).toBeDefined();
});
