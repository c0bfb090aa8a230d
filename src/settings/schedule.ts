import { Cron } from 'croner';
import { messageOf, UsageError } from '../errors.ts';
import { parseTime } from '../range.ts';

/** Something that the daemon does at certain moments instead of all the time. */
export interface Schedule {
  /** When: a cron expression, in UTC. */
  readonly cron: string;
  /** Names of datasets, `core` or `all`; undefined: all that the daemon has. */
  readonly only: readonly string[] | undefined;
  /** The words of a range to cover; undefined: from `ETL_SINCE` to the head, of datasets that are then read at no other time. */
  readonly range: { readonly from: string; readonly to: string } | undefined;
}

const FORMS = '"actions @ 0 * * * *" or "2026-01-01 .. -1h @ 0 3 * * *"';

/**
 * Schedules with semicolons between: what, `@`, and when. What is names of datasets (`actions,nft_transfers`), a range
 * (`2026-01-01 .. -1h`), or names and a range.
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

/** Two dates, or two times that count from now, must be in order; a date may lie on either side of a time from now. */
function requireOrder(from: string, to: string): void {
  const [isFixed, isFixedToo] = [from, to].map((word) => /^\d/.test(word));
  const [start, end] = [from, to].map((word) => parseTime(word, ANY_NOW));
  if (isFixed === isFixedToo && start !== undefined && end !== undefined && start >= end)
    throw new UsageError(`the range ${from} .. ${to} ends before it begins`);
}

const ANY_NOW = 2 ** 31;

function requireCron(cron: string): void {
  try {
    new Cron(cron, { paused: true }).stop();
  } catch (error) {
    throw new UsageError(`"${cron}" is not a cron expression: ${messageOf(error)}`);
  }
}

function wrong(text: string): UsageError {
  return new UsageError(`"${text}" is not a schedule: write it like ${FORMS}`);
}
