import * as z from 'zod';

/**
 * A parser for v3 bodies that hold a list: `{ [member]: [...] | null, ... }`. Returns the records as they came, none
 * for null (an empty Go slice). Throws a ZodError where the member is missing or no list: a body of another endpoint,
 * or an error with status 200, must not pass as "nothing there".
 */
export function listOf(member: string): (body: unknown) => unknown[] {
  const schema = z.looseObject({ [member]: z.array(z.unknown()).nullable() });
  return (body) => {
    const list = schema.parse(body)[member];
    return Array.isArray(list) ? list : [];
  };
}
