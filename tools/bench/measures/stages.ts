import { parseJson, listOf } from '../../../src/api/read-response.ts';
import type { Job } from '../../../src/dataset/job.ts';
import { loadJobs } from '../../../src/dataset/load-jobs.ts';
import { readList } from '../../../src/dataset/bytes/read-list.ts';
import { linesOfRecords } from '../../../src/write/lines.ts';
import type { Range } from '../../../src/range.ts';
import { busyNetworkOf, serveNetwork } from '../network.ts';

const MOST_PAGES = 10;
/** How often each page goes through all stages; the first quarter is not counted, because the compiler is not warm. */
const ROUNDS = 12;
/** Datasets with fewer bytes in this network are left out. */
const FEWEST_BYTES = 50_000;

/** `read`: the records are found in the bytes and checked there, or parsed. */
const STAGES = ['read', 'records', 'lines'] as const;
type Stage = (typeof STAGES)[number];

/**
 * The parts of the client's work on a page, in CPU time a row, which is the best figure on a machine that
 * others use, too.
 */
export async function measureStages(
  tell: (measure: string, values: Record<string, unknown>) => void,
): Promise<void> {
  const network = busyNetworkOf(12_000);
  const api = await serveNetwork(network);
  const span = { from: network.start, to: network.start + network.duration };
  try {
    for (const { name, job } of await loadJobs()) {
      const bodies = job.scopes === undefined ? await pagesOf(api.url, job, span) : [];
      if (bodies.reduce((sum, { length }) => sum + length, 0) < FEWEST_BYTES) continue;
      tell(`client CPU of ${name} by stage, microseconds a row`, await stagesOf(job, bodies));
    }
  } finally {
    await api.stop();
  }
}

async function pagesOf(url: string, job: Job, span: Range): Promise<Buffer[]> {
  const bodies: Buffer[] = [];
  let cursor: unknown = job.paginator.start(span);
  while (cursor !== undefined && bodies.length < MOST_PAGES) {
    const size = Math.min(1000, job.paginator.maxSize);
    const query = new URLSearchParams();
    for (const [name, value] of Object.entries({ ...job.params, ...job.paginator.request(cursor, size) }))
      for (const one of Array.isArray(value) ? value : [value]) query.append(name, String(one));
    const response = await fetch(`${url}${job.path}?${query.toString()}`);
    const body = Buffer.from(await response.arrayBuffer());
    bodies.push(body);
    const reading = job.read(listOf(job.list)(parseJson(body.toString())));
    cursor = job.paginator.next(cursor, { ...reading, size }).cursor;
  }
  return bodies;
}

/** The stages of reading a page, one by one. */
async function stagesOf(job: Job, bodies: readonly Buffer[]): Promise<Record<string, number>> {
  const spent: Record<Stage, number> = { read: 0, records: 0, lines: 0 };
  let rows = 0;
  for (let round = 0; round < ROUNDS; round += 1) {
    const isCounted = round >= ROUNDS / 4;
    const timed = async <T>(stage: Stage, work: () => T | Promise<T>): Promise<T> => {
      const before = process.cpuUsage();
      const value = await work();
      const { user, system } = process.cpuUsage(before);
      if (isCounted) spent[stage] += user + system;
      return value;
    };
    for (const bytes of bodies) {
      const { list, record } = job;
      const read = await timed('read', () =>
        readList({ bytes, list, record, parse: parseJson, turn: () => Promise.resolve() }),
      );
      const records = read?.records ?? [];
      const { accepted } = await timed('records', () => job.read(records));
      const lines = await timed('lines', () => linesOfRecords(job.tables, accepted));
      if (isCounted) rows += lines.reduce((sum, { count }) => sum + count, 0);
    }
  }
  const whole = STAGES.reduce((sum, stage) => sum + spent[stage], 0);
  return {
    ...Object.fromEntries(STAGES.map((stage) => [stage, spent[stage] / rows])),
    whole: whole / rows,
  };
}
