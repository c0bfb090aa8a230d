import { createRedactor, spellingsOf } from '../../settings/redact.ts';

/** Keys of the API have 64 characters. */
const SHORTEST_KEY = 16;

/** A server may repeat a key that it does not like; nothing of its text goes further with the key in it. */
export interface KeyGuard {
  /** False where the key stands nowhere in these bytes, however it is spelled. */
  mayBeIn(bytes: Buffer): boolean;
  /** Takes it out of a text. */
  without(text: string): string;
}

/** For data: words as short as no key is may stand there by chance, and must not change. */
export function guardKey(apiKey: string | undefined): KeyGuard {
  if (apiKey === undefined || apiKey.length < SHORTEST_KEY) return NO_KEY;
  const spellings = spellingsOf(apiKey).map((spelling) => Buffer.from(spelling));
  return {
    mayBeIn: (bytes) => spellings.some((spelling) => bytes.includes(spelling)),
    without: createRedactor([apiKey], '[key]'),
  };
}

const NO_KEY: KeyGuard = { mayBeIn: () => false, without: (text) => text };
