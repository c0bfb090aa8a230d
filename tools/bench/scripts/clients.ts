import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import * as z from 'zod';

/* The built program and Python scripts run as separate processes, whose time, CPU and memory are measured. */

const ROOT = process.cwd();
const SCRIPTS = join(ROOT, 'tools/bench/scripts');
export const PYTHON = process.env['PYTHON'] ?? 'python3';
const Used = z.object({
  code: z.number(),
  seconds: z.number(),
  cpuSeconds: z.number(),
  megabytes: z.number(),
});
export type Used = z.infer<typeof Used>;

/** The range that a client reads, and the database that it writes. */
export interface Range {
  readonly api: string;
  readonly database: string;
  readonly from: number;
  readonly to: number;
}

export const script =
  (name: string) =>
  ({ api, database, from, to }: Range): string[] => [
    PYTHON,
    join(SCRIPTS, name),
    api,
    database,
    String(from),
    String(to),
  ];

/** `directory`: where the program was built. */
export const program = ({ api, database }: Range, directory = ROOT): string[] => [
  'env',
  `DATABASE_URL=${database}`,
  `TONCENTER_NETWORK=${api}`,
  'TONCENTER_RPS=1000',
  process.execPath,
  join(directory, 'dist/src/cli.js'),
];

/** Runs a command to its end; throws if it failed. */
export function run(command: readonly string[]): Used {
  const { stdout, stderr } = spawnSync(PYTHON, [join(SCRIPTS, 'measure.py'), ...command], {
    encoding: 'utf8',
  });
  const used = Used.parse(JSON.parse(stdout));
  if (used.code !== 0) throw new Error(`${command.join(' ')} ended with ${used.code}:\n${stderr}`);
  return used;
}

/** True if Python runs and has these modules. */
export function has(modules: string): boolean {
  return spawnSync(PYTHON, ['-c', `import ${modules}`]).status === 0;
}
