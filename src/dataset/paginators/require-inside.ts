import { BadResponseError } from '../../errors.ts';
import { formatTime, isInside, type Range } from '../../range.ts';
import type { Position } from './paginator.ts';

/** If a server answered for another window than the requested one, empty seconds would look covered. */
export function requireInside({ utime, id }: Position, asked: Range): void {
  if (isInside(utime, asked)) return;
  throw new BadResponseError(
    utime === 0
      ? `the time of row ${id} cannot be read, nor that of any other row of its page`
      : `row ${id} of ${formatTime(utime)} lies outside of the window that was asked for`,
  );
}
