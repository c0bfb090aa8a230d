import { z } from 'zod';

/** JSON whose shape is not the API's own, kept as it came; it may be left out. */
export const freeForm = z.unknown().optional();
