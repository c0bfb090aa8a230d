import { createRedactor, spellingsOf } from '../../settings/redact.ts';

/** Keys of the API have 64 characters. */
const SHORTEST_KEY = 16;

/** A server may repeat a key that it rejects. The guard removes it from texts of the server. */
export interface KeyGuard {
  /** False if the bytes contain the key in no spelling. */
  mayBeIn(bytes: Buffer): boolean;
  /** Removes the key from a text. */
  without(text: string): string;
}

/** For data: shorter words may occur there by chance, and must not change. */
export function guardKey(apiKey: string | undefined): KeyGuard {
  if (apiKey === undefined || apiKey.length < SHORTEST_KEY) return NO_KEY;
  const spellings = spellingsOf(apiKey).map((spelling) => Buffer.from(spelling));
  return {
    mayBeIn: (bytes) => spellings.some((spelling) => bytes.includes(spelling)),
    without: createRedactor([apiKey], '[key]'),
  };
}

const NO_KEY: KeyGuard = { mayBeIn: () => false, without: (text) => text };
