import { readBody } from '../../../src/api/response/body-text.ts';
import { parseJson } from '../../../src/api/response/parse-json.ts';
import { listOf } from '../../../src/api/response/v3-envelope.ts';
import type { Job } from '../../../src/dataset/job.ts';
import { loadJobs } from '../../../src/dataset/load-jobs.ts';
import { linesOfRecords } from '../../../src/db/write/rows/lines.ts';
import type { Range } from '../../../src/range.ts';
import { busyNetworkOf, serveNetwork } from '../network.ts';

const MOST_PAGES = 10;
/** How often each page goes through all stages; the first quarter is not counted: then the compiler is warm. */
const ROUNDS = 12;
/** Datasets with fewer bytes in this network say little. */
const FEWEST_BYTES = 50_000;

const STAGES = ['body', 'json', 'check', 'lines'] as const;
type Stage = (typeof STAGES)[number];

/** The parts of the client's work on a page, in CPU time a row: of a machine that others use too, it tells most. */
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
      tell(`client CPU of ${name} by stage, microseconds a row`, stagesOf(job, bodies));
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

function stagesOf(job: Job, bodies: readonly Buffer[]): Record<string, number> {
  const spent: Record<Stage, number> = { body: 0, json: 0, check: 0, lines: 0 };
  const recordsIn = listOf(job.list);
  let rows = 0;
  for (let round = 0; round < ROUNDS; round += 1) {
    const isCounted = round >= ROUNDS / 4;
    const timed = <T>(stage: Stage, work: () => T): T => {
      const before = process.cpuUsage();
      const value = work();
      const { user, system } = process.cpuUsage(before);
      if (isCounted) spent[stage] += user + system;
      return value;
    };
    for (const body of bodies) {
      const { text, strings } = timed('body', () => readBody(body, 'bytes'));
      const records = timed('json', () => recordsIn(parseJson(text, body)));
      const { accepted } = timed('check', () => job.read(records, strings));
      const lines = timed('lines', () => linesOfRecords(job.tables, accepted));
      if (isCounted) rows += lines.reduce((sum, { count }) => sum + count, 0);
    }
  }
  const whole = STAGES.reduce((sum, stage) => sum + spent[stage], 0);
  return {
    ...Object.fromEntries(STAGES.map((stage) => [stage, spent[stage] / rows])),
    whole: whole / rows,
  };
}
