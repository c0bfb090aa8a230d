import { randomBytes } from 'node:crypto';
import { closeSync, openSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import type { Clock } from '../clock.ts';
import { UsageError } from '../errors.ts';

/** A recorded response of the API, of any status, without the key. */
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
 * Writes responses into an existing directory, one JSON line each, one file for each process. `simulate --corpus`
 * serves them. A line is written before its page is committed, so a killed process loses no line of a committed page.
 * @throws UsageError if the directory is not writable
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
    throw new UsageError(`cannot record responses in ${directory}: ${String(error)}`, {
      hint: 'Give --record a writable directory.',
    });
  }
}

/** The body is written as it came, so that no digit is lost. If it is not JSON, it is written as a string. */
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
