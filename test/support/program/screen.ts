import { spawn, type ChildProcess } from 'node:child_process';
import xterm from '@xterm/headless';

/** A program on a pseudo-terminal of so many columns, and what a terminal shows of it. */
export interface Screen {
  readonly child: ChildProcess;
  /** Null if a signal ended it. */
  readonly ended: Promise<number | null>;
  /** Sends the keys of a user. */
  type(text: string): void;
  /** All lines down to the last one that is not empty, those that scrolled off first. */
  lines(): string[];
}

interface ScreenOptions {
  readonly columns: number;
  readonly env: Readonly<Record<string, string>>;
  readonly cwd?: string;
  /** Called after each piece of output is on the screen. */
  readonly onChange?: (lines: string[]) => void;
}

/** Runs a shell command on a terminal of 24 rows, through util-linux' `script`. */
export function openScreen(command: string, { columns, env, cwd, onChange }: ScreenOptions): Screen {
  const terminal = new xterm.Terminal({
    cols: columns,
    rows: 24,
    scrollback: 10_000,
    allowProposedApi: true,
  });
  const child = spawn('script', ['-qec', `stty cols ${columns} rows 24; ${command}`, '/dev/null'], {
    env: { PATH: process.env['PATH'], TERM: 'xterm', ...env },
    cwd,
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const lines = () => {
    const { active } = terminal.buffer;
    const all = Array.from(
      { length: active.length },
      (_, row) => active.getLine(row)?.translateToString(true) ?? '',
    );
    return all.slice(0, all.findLastIndex((line) => line !== '') + 1);
  };
  child.stdout.on('data', (chunk: Buffer) => terminal.write(chunk, () => onChange?.(lines())));
  const ended = new Promise<number | null>((resolve) => {
    child.once('close', (code) => terminal.write('', () => resolve(code)));
  });
  // A process that has ended reads nothing any more.
  child.stdin.on('error', () => undefined);
  return { child, ended, type: (text) => void child.stdin.write(text), lines };
}
