import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import * as z from 'zod';

const Line = z.looseObject({
  path: z.string(),
  query: z.string(),
  status: z.number(),
  apiVersion: z.string().optional(),
});

/** A recorded response; `text` is the body as it came. */
export interface ReplayedResponse {
  readonly path: string;
  readonly search: URLSearchParams;
  readonly apiVersion: string | undefined;
  readonly text: string;
}

const FILE = /^responses-.*\.jsonl$/;
const BODY = ',"body":';

/** True if a directory is what `--record` wrote. */
export function isRecording(directory: string): boolean {
  return existsSync(directory) && readdirSync(directory).some((name) => FILE.test(name));
}

/** The responses with status 200, file by file, in the order in which they came. A line that was cut off is left out. */
export function* readRecording(directory: string): Generator<ReplayedResponse> {
  for (const name of readdirSync(directory)
    .filter((file) => FILE.test(file))
    .toSorted())
    for (const line of readFileSync(join(directory, name), 'utf8').split('\n')) {
      const response = readLine(line);
      if (response !== undefined) yield response;
    }
}

function readLine(line: string): ReplayedResponse | undefined {
  // The facts before the body hold no such text: quotes in them are escaped.
  const at = line.indexOf(BODY);
  if (at < 0 || !line.endsWith('}')) return undefined;
  const facts = Line.safeParse(JSON.parse(`${line.slice(0, at)}}`));
  if (!facts.success || facts.data.status !== 200) return undefined;
  const { path, query, apiVersion } = facts.data;
  return { path, search: new URLSearchParams(query), apiVersion, text: line.slice(at + BODY.length, -1) };
}
