import { fstatSync, writeFileSync } from 'node:fs';
import { EXIT, toError } from '../errors.ts';

const gone = new AbortController();

/** Aborted when nobody reads stdout any more (`| head`), or its disk is full. */
export const stdoutGone: AbortSignal = gone.signal;

/**
 * Lets a command end by itself when stdout can take no more: what it has opened is closed, such as the embedded server.
 * A reader that has seen enough is no failure; results that cannot be stored are one.
 */
export function watchStdout(): void {
  const { stdout, stderr } = process;
  // Node's own stream takes a part of a text for the whole, which is what a disk that becomes full writes.
  if (isFile(stdout.fd)) stdout._write = writeWhole;
  stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE' && !stdoutGone.aborted) {
      stderr.write(
        `error: the results cannot be written: ${error.message}\nhint: Free some space, or send stdout elsewhere.\n`,
      );
      process.once('exit', () => (process.exitCode = EXIT.failed));
    }
    gone.abort();
  });
  // A log that cannot be written ends nobody.
  stderr.on('error', () => undefined);
}

let draining: Promise<void> | undefined;

/**
 * Writes results to stdout; nothing where nobody reads it any more.
 * @returns what to wait for before more is written, undefined where it takes more at once; it never rejects
 */
export function writeOut(text: string): Promise<void> | undefined {
  const { stdout } = process;
  if (gone.signal.aborted || stdout.write(text)) return undefined;
  // One wait for all who write: each of its own would leave its listeners behind.
  draining ??= new Promise((resolve) => {
    const end = () => {
      stdout.off('drain', end);
      gone.signal.removeEventListener('abort', end);
      draining = undefined;
      resolve();
    };
    stdout.on('drain', end);
    gone.signal.addEventListener('abort', end);
  });
  return draining;
}

function isFile(fd: number): boolean {
  try {
    return fstatSync(fd).isFile();
  } catch {
    // Whoever started this closed stdout.
    return false;
  }
}

function writeWhole(chunk: Uint8Array | string, _: BufferEncoding, done: (error?: Error) => void): void {
  try {
    writeFileSync(process.stdout.fd, chunk);
    done();
  } catch (error) {
    done(toError(error));
  }
}
