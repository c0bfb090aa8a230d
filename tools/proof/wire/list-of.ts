/** The records of a response. */
export function listOf(body: string, list: string): Record<string, unknown>[] {
  const parsed = JSON.parse(body) as Record<string, unknown>;
  const records = parsed[list];
  return Array.isArray(records) ? (records as Record<string, unknown>[]) : [];
}
