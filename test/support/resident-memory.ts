import { existsSync, readFileSync } from 'node:fs';

/** The current resident memory of a process, and its peak, in megabytes; undefined if the process has ended. */
export function residentMemory(pid: number): { readonly nowMb: number; readonly mostMb: number } | undefined {
  const path = `/proc/${pid}/status`;
  const status = existsSync(path) ? readFileSync(path, 'utf8') : '';
  const megabytes = (name: string) => Number(new RegExp(`${name}:\\s+(\\d+) kB`).exec(status)?.[1]) / 1024;
  const [nowMb, mostMb] = [megabytes('VmRSS'), megabytes('VmHWM')];
  return Number.isNaN(nowMb) ? undefined : { nowMb, mostMb };
}
