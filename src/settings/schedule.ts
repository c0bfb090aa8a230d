import { Cron } from 'croner';
import { messageOf, UsageError } from '../errors.ts';
import { parseTime } from '../range.ts';

export interface Schedule {
  /** A cron expression, in UTC. */
  readonly cron: string;
  /** Names of datasets, `core` or `all`; undefined: all datasets of the daemon. */
  readonly only: readonly string[] | undefined;
  /**
   * The range to cover, as written. Undefined: from `ETL_SINCE` to the head; these datasets are then read only on
   * this schedule.
   */
  readonly range: { readonly from: string; readonly to: string } | undefined;
}

const FORMS = '"actions @ 0 * * * *" or "2026-01-01 .. -1h @ 0 3 * * *"';

/**
 * Parses schedules, separated by semicolons. Each is names of datasets (`actions,nft_transfers`), a range
 * (`2026-01-01 .. -1h`) or both, then `@` and a cron expression.
 * @throws UsageError
 */
export function parseSchedules(text: string): Schedule[] {
  return text
    .split(';')
    .map((part) => part.trim())
    .filter((part) => part !== '')
    .map(parseSchedule);
}

function parseSchedule(text: string): Schedule {
  const [what = '', cron, ...rest] = text.split('@').map((part) => part.trim());
  if (cron === undefined || rest.length > 0) throw wrong(text);
  requireCron(cron);
  const [, names, from, to] = /^(?:([a-z_,]+))?(?:\s*([^\s,]+)\s*\.\.\s*(\S+))?$/.exec(what) ?? [];
  if (names === undefined && from === undefined) throw wrong(text);
  if (from !== undefined && to !== undefined) requireOrder(from, to);
  return {
    cron,
    only: names?.split(',').filter((name) => name !== ''),
    range: from === undefined || to === undefined ? undefined : { from, to },
  };
}

/**
 * If both are dates, or both are relative to now, they must be in order. A date may lie on either side of a relative time.
 */
function requireOrder(from: string, to: string): void {
  const [isFixed, isFixedToo] = [from, to].map((word) => /^\d/.test(word));
  const [start, end] = [from, to].map((word) => parseTime(word, ANY_NOW));
  if (isFixed === isFixedToo && start !== undefined && end !== undefined && start >= end)
    throw new UsageError(`the range ${from} .. ${to} ends before it begins`);
}

const ANY_NOW = 2 ** 31;

function requireCron(cron: string): void {
  let next: Date | null;
  try {
    next = new Cron(cron, { paused: true }).nextRun();
  } catch (error) {
    throw new UsageError(`"${cron}" is not a cron expression: ${messageOf(error)}`);
  }
  if (next === null) throw new UsageError(`"${cron}" names a time that never comes`);
}

function wrong(text: string): UsageError {
  return new UsageError(`"${text}" is not a schedule: write it like ${FORMS}`);
}
