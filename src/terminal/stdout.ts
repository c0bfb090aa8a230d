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
