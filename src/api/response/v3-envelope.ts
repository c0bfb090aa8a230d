import * as z from 'zod';

/**
 * A parser for v3 bodies with a list: `{ [member]: [...] | null, ... }`. Returns the raw records, none for
 * null (an empty Go slice). Throws a ZodError if the member is missing or is not a list. A body of another
 * endpoint, or an error with status 200, must not pass as an empty list.
 */
export function listOf(member: string): (body: unknown) => unknown[] {
  const schema = z.looseObject({ [member]: z.array(z.unknown()).nullable() });
  return (body) => {
    const list = schema.parse(body)[member];
    return Array.isArray(list) ? list : [];
  };
}
