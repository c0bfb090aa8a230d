import { Console } from 'node:console';
import { Writable } from 'node:stream';
import { stripVTControlCharacters } from 'node:util';
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

interface TerminalStream {
  readonly isTTY?: boolean;
  readonly columns?: number;
  readonly rows?: number;
  write(text: string): unknown;
}

const ROWS = 24;

/** The terminal of stderr. It has one writer: log lines scroll above a status area at the bottom. */
export const terminal = openTerminal(process.stderr);

// Not log-update: loading it takes a tenth of a second, in every command.
export function openTerminal(stream: TerminalStream) {
  let statusLines: readonly string[] = [];
  const columns = () => (stream.isTTY === true && (stream.columns ?? 0) > 0 ? stream.columns : undefined);
  /**
   * Moves to the first line of the status area, and deletes everything below. If the window became narrower, lines
   * have wrapped.
   */
  const clear = () => {
    const rows = statusLines.reduce(
      (sum, line) => sum + Math.max(1, Math.ceil(line.length / (columns() ?? Infinity))),
      0,
    );
    return rows === 0 ? '' : `\u001B[${rows}F\u001B[J`;
  };
  const draw = () => statusLines.map((line) => `${line}\n`).join('');
  return {
    /** The width in columns; undefined if it is not a terminal, or does not tell its width. */
    get columns() {
      return columns();
    },
    /** Writes whole lines above the status area. Long ones are broken between words. */
    write: (text: string) => {
      stream.write(clear() + wrap(text, columns()) + draw());
    },
    /** Redraws the status area. No line may be longer than the terminal is wide. */
    showStatus: (lines: readonly string[]) => {
      const before = clear();
      // Lines that scroll off the top cannot be redrawn.
      statusLines = lines.slice(-((stream.rows ?? ROWS) - 1));
      stream.write(before + draw());
    },
    /** Ends the status area: it stays, and what is written next comes below it. */
    keepStatus: () => {
      statusLines = [];
    },
  };
}

/** Breaks long lines between words, and indents the rest. A longer word stays whole. */
export function wrap(text: string, columns = Infinity, indent = '    '): string {
  return text
    .split('\n')
    .map((line) => wrapLine(line, columns, indent))
    .join('\n');
}

function wrapLine(line: string, columns: number, indent: string): string {
  let [lines, length] = ['', 0];
  // Words end with a space, fields of a log record with a comma.
  for (const word of line.split(/(?<=[ ,])/)) {
    const more = stripVTControlCharacters(word).length;
    const isLong = length > 0 && length + more - (word.endsWith(' ') ? 1 : 0) > columns;
    lines = isLong ? `${lines.trimEnd()}\n${indent}${word}` : lines + word;
    length = isLong ? indent.length + more : length + more;
  }
  return lines;
}

/**
 * Line feeds and tabs are harmless. Other control characters move the cursor, change colors or reverse the direction
 * of text.
 */
const UNPRINTABLE = /(?![\n\t])[\p{Cc}\u202A-\u202E\u2066-\u2069]/gu;

/** Makes foreign text, such as a jetton's name, safe for a terminal: control characters become �. */
export function printable(text: string): string {
  return text.replaceAll(UNPRINTABLE, '�');
}

/** Makes the console's output printable if it goes to a terminal. */
export function protectTerminal(): void {
  globalThis.console = new Console({ stdout: protect(process.stdout), stderr: protect(process.stderr) });
}

function protect(stream: NodeJS.WriteStream): NodeJS.WritableStream {
  if (!stream.isTTY) return stream;
  return new Writable({
    decodeStrings: false,
    write(text: string, _encoding, done) {
      stream.write(printable(text));
      done();
    },
  });
}
