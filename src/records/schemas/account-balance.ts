import { z } from 'zod';
import { requiredDigits } from './scalar.ts';

/** One element of the answer of GET /api/v3/topAccountsByBalance. */
export const accountBalance = z.strictObject({ account: z.string(), balance: requiredDigits });
