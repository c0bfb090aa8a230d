import * as z from 'zod';
import type { Echo } from '../../dataset/paginators/paginator.ts';

const second = z.number().nullish();
const echo = z.looseObject({ start_utime: second, end_utime: second });

/**
 * The window that a v3 body says it answers, for endpoints that echo their request; empty if it says none.
 * Throws a ZodError if the body is not an object or the window is not numeric.
 */
export function echoOf(body: unknown): Echo {
  const { start_utime, end_utime } = echo.parse(body);
  return { ...(start_utime != null && { start_utime }), ...(end_utime != null && { end_utime }) };
}
