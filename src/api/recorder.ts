import { randomBytes } from 'node:crypto';
import { closeSync, openSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import type { Clock } from '../clock.ts';
import { UsageError } from '../errors.ts';

/** A response of the API, of any status, as it is recorded. No key is in it. */
export interface RecordedResponse {
  readonly path: string;
  readonly query: string;
  readonly status: number;
  readonly apiVersion: string | undefined;
  /** The decoded body. */
  readonly text: string;
}

export interface Recorder {
  record(response: RecordedResponse): void;
  close(): void;
}

/**
 * Writes responses into a directory that is there, one JSON line each, a file for each process. `simulate --corpus`
 * serves them back. A line is on its way to the disk before its page is committed, so a process that is killed loses none
 * that counts.
 * @throws UsageError where the directory cannot be written to
 */
export function openRecorder(directory: string, clock: Clock): Recorder {
  const file = openFile(directory, `responses-${process.pid}-${randomBytes(4).toString('hex')}.jsonl`);
  return {
    record: (response) => {
      writeSync(file, `${lineOf(response, new Date(clock.now()).toISOString())}\n`);
    },
    close: () => {
      closeSync(file);
    },
  };
}

function openFile(directory: string, name: string): number {
  try {
    return openSync(join(directory, name), 'a', 0o600);
  } catch (error) {
    throw new UsageError(`nothing can be recorded in ${directory}: ${String(error)}`, {
      hint: 'Give --record a directory that can be written to.',
    });
  }
}

/** The body stands in its line as it came, so that no digit is lost; what is no JSON stands there as a string. */
function lineOf({ text, ...facts }: RecordedResponse, receivedAt: string): string {
  const body = isJson(text) ? text.replaceAll(/[\r\n]+/g, ' ') : JSON.stringify(text);
  return `${JSON.stringify({ ...facts, receivedAt }).slice(0, -1)},"body":${body}}`;
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
