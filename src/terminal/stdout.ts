import { fstatSync, writeFileSync } from 'node:fs';
import { EXIT, toError } from '../errors.ts';

const gone = new AbortController();

/** Aborted when stdout was closed by its reader (`| head`), or its disk is full. */
export const stdoutGone: AbortSignal = gone.signal;

/**
 * Lets a command end normally when stdout takes no more, so that it closes what it has opened, such as the embedded
 * server. A reader that closes the pipe is not a failure; results that cannot be written are.
 */
export function watchStdout(): void {
  const { stdout, stderr } = process;
  // When a disk becomes full, a write is partial. Node's own stream would count it as complete.
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
  // A log that cannot be written must not end the process.
  stderr.on('error', () => undefined);
}

let draining: Promise<void> | undefined;

/**
 * Writes results to stdout, and nothing if stdout is closed.
 * @returns a promise to await before the next write; undefined if more can be written at once. It never rejects.
 */
export function writeOut(text: string): Promise<void> | undefined {
  const { stdout } = process;
  if (gone.signal.aborted || stdout.write(text)) return undefined;
  // All writers share one promise: otherwise each of them would leave listeners behind.
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
    // The parent process closed stdout.
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
