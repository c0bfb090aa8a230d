import { execFile } from 'node:child_process';

/** An operating system user that a program runs as. */
export interface Account {
  readonly uid: number;
  readonly gid: number;
}

interface CommandResult {
  /** The exit code, or why there is none: a signal's name or a system error such as `ENOENT`. */
  readonly status: number | string;
  readonly stdout: string;
  readonly stderr: string;
}

interface CommandOptions {
  /** Undefined: the user of this process. */
  readonly account?: Account | undefined;
  readonly signal?: AbortSignal | undefined;
}

/**
 * The environment of Postgres' programs. It contains nothing that changes their language (this program parses their
 * messages), their time zone or their target (`PGDATA`, `PGPORT`).
 */
export const CHILD_ENVIRONMENT = { LC_ALL: 'C', TZ: 'UTC', PATH: '/usr/sbin:/usr/bin:/sbin:/bin' } as const;

/** Runs a program to its end, without a shell. It rejects only if `signal` is aborted; every other end is a result. */
export async function runCommand(
  file: string,
  args: readonly string[],
  { account, signal }: CommandOptions = {},
): Promise<CommandResult> {
  signal?.throwIfAborted();
  const options = { cwd: '/', env: CHILD_ENVIRONMENT, ...account, ...(signal && { signal }) };
  const result = await new Promise<CommandResult>((resolve) => {
    execFile(file, args, options, (error, stdout, stderr) => {
      resolve({ status: error === null ? 0 : (error.code ?? error.signal ?? 'unknown'), stdout, stderr });
    });
  });
  signal?.throwIfAborted();
  return result;
}
