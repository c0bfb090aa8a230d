import { SPAN } from '../network.ts';
import type { BenchServer, BenchStore } from '../store.ts';
import { copyCost, copyFiles, middle } from './copy-limit.ts';
import { lookUp } from './look-up.ts';
import { sizeOf } from './size.ts';
import { writePath } from './write-path.ts';

/** Both ways take turns, and the median of each counts: one after the other they would run under different load. */
const ROUNDS = 3;
/** Counted pages of each round. */
const PAGES = 60;

/** Microseconds and rows a second of one round. */
interface Round {
  readonly rate: number;
  readonly limit: number;
  readonly client: number;
  readonly server: number;
  readonly copy: number;
}

/** The write path and its limit, with which all other ways are compared: rows a second of the server's own COPY. */
export async function measureWriting(
  tell: (measure: string, values: Record<string, unknown>) => void,
  api: string,
  server: BenchServer,
): Promise<number> {
  const target = await server.create('limit', SPAN);
  const rounds: Round[] = [];
  for (let round = 1; round <= ROUNDS; round += 1) {
    const store = await server.create(`written${round}`, SPAN);
    rounds.push(await measureRound({ api, server, store, target }));
    if (round === ROUNDS) {
      tell('bytes in Postgres, with indexes', { ...(await sizeOf(store)) });
      tell('look-up by hash, milliseconds', { ...(await lookUp(store)), aim: 10 });
    }
    await store.close();
    await server.remove(store.url);
  }
  await target.close();
  const limit = middle(rounds.map((round) => round.limit));
  const rate = middle(rounds.map((round) => round.rate));
  const [cost, least] = [
    middle(rounds.map((round) => round.server)),
    middle(rounds.map((round) => round.copy)),
  ];
  tell('limit: COPY from a file', { rowsPerSecond: Math.round(limit), ratio: 1 });
  tell('write path, one connection', { rowsPerSecond: Math.round(rate), ratio: rate / limit, aim: 0.4 });
  tell('CPU of Postgres for the write path, COPY from a file is 1', {
    microsecondsPerRow: cost,
    microsecondsOfCopy: least,
    rounds: rounds.map((round) => [round.server, round.copy]),
    ratio: cost / least,
    aim: 1.25,
  });
  tell('client CPU of the write path', { microsecondsPerRow: middle(rounds.map((round) => round.client)) });
  return limit;
}

const micro = (seconds: number, rows: number) => (seconds / rows) * 1e6;

interface WritingOptions {
  readonly api: string;
  readonly server: BenchServer;
  readonly store: BenchStore;
  readonly target: BenchStore;
}

async function measureRound({ api, server, store, target }: WritingOptions): Promise<Round> {
  const cpuSeconds = () => server.cpuSeconds();
  const written = await writePath(api, store, { pages: PAGES, cpuSeconds });
  const files = await copyFiles(store);
  const copied = await copyCost(target, files, { cpuSeconds });
  await files.remove();
  return {
    rate: written.rows / written.seconds,
    limit: files.rows / copied.seconds,
    client: micro(written.cpuSeconds, written.rows),
    server: micro(written.serverSeconds, written.rows),
    copy: micro(copied.cpuSeconds, files.rows),
  };
}
