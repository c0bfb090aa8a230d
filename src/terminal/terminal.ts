import { Console } from 'node:console';
import { Writable } from 'node:stream';
import { stripVTControlCharacters } from 'node:util';

/** The terminal behind stderr. It has one writer: lines that scroll go above the lines that stand at its foot. */
export interface Terminal {
  /** Columns of a line; undefined where stderr is no terminal, or one that does not say how wide it is. */
  readonly columns: number | undefined;
  /** Writes whole lines above those that stand; long ones are broken between words. */
  write(text: string): void;
  /** Draws lines at the foot, over those that stood there; none may be longer than the terminal is wide. */
  stand(lines: readonly string[]): void;
  /** Leaves what stands where it is: what is written next comes below it. */
  release(): void;
}

interface TerminalStream {
  readonly isTTY?: boolean;
  readonly columns?: number;
  readonly rows?: number;
  write(text: string): unknown;
}

const ROWS = 24;

export const terminal = openTerminal(process.stderr);

// Not a library such as log-update: it takes a tenth of a second to load, which every command would pay.
export function openTerminal(stream: TerminalStream): Terminal {
  let standing: readonly string[] = [];
  const columns = () => (stream.isTTY === true && (stream.columns ?? 0) > 0 ? stream.columns : undefined);
  /** Goes to the first line that stands, and deletes what is below it. In a window that became narrower, lines wrap. */
  const clear = () => {
    const rows = standing.reduce(
      (sum, line) => sum + Math.max(1, Math.ceil(line.length / (columns() ?? Infinity))),
      0,
    );
    return rows === 0 ? '' : `\u001B[${rows}F\u001B[J`;
  };
  const draw = () => standing.map((line) => `${line}\n`).join('');
  return {
    get columns() {
      return columns();
    },
    write(text) {
      stream.write(clear() + wrap(text, columns()) + draw());
    },
    stand(lines) {
      const before = clear();
      // What scrolls off the top cannot be drawn over.
      standing = lines.slice(-((stream.rows ?? ROWS) - 1));
      stream.write(before + draw());
    },
    release() {
      standing = [];
    },
  };
}

/** What does not fit into a line goes on in the next one, a little further in. A word that is longer stays whole. */
export function wrap(text: string, columns = Infinity, indent = '    '): string {
  return text
    .split('\n')
    .map((line) => wrapLine(line, columns, indent))
    .join('\n');
}

function wrapLine(line: string, columns: number, indent: string): string {
  let [lines, length] = ['', 0];
  // Words end with a space, and fields of a log record with a comma.
  for (const word of line.split(/(?<=[ ,])/)) {
    const more = stripVTControlCharacters(word).length;
    const isLong = length > 0 && length + more - (word.endsWith(' ') ? 1 : 0) > columns;
    lines = isLong ? `${lines.trimEnd()}\n${indent}${word}` : lines + word;
    length = isLong ? indent.length + more : length + more;
  }
  return lines;
}

/** Line feeds and tabs do no harm; other control characters move a cursor or change colours, and some turn a line around. */
const UNPRINTABLE = /(?![\n\t])[\p{Cc}\u202A-\u202E\u2066-\u2069]/gu;

/** Text of others, such as a jetton's name, as a terminal may have it: what it could command is shown as �. */
export function printable(text: string): string {
  return text.replaceAll(UNPRINTABLE, '�');
}

/** What commands print reaches a terminal printable, and everything else as it is. */
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
