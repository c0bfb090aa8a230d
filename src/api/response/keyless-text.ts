import { createRedactor } from '../../settings/redact.ts';

/** Keys of the API have 64 characters. */
const SHORTEST_KEY = 16;

/**
 * A server may repeat a key that it does not like; nothing of its text goes further with the key in it. Words as short as
 * no key is may stand in data by chance, which must not change.
 */
export function keylessText(apiKey: string | undefined): (text: string) => string {
  if (apiKey === undefined || apiKey.length < SHORTEST_KEY) return (text) => text;
  return createRedactor([apiKey], '[key]');
}
