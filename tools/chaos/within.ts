import { setTimeout as delay } from 'node:timers/promises';

/** The result of a promise. @throws Error with the text of `hanging` if it does not settle within `seconds` */
export async function within<T>(seconds: number, promise: Promise<T>, hanging: () => string): Promise<T> {
  const over = new AbortController();
  const limit = delay(seconds * 1000, undefined, { signal: over.signal }).then(() => {
    throw new Error(`not done within ${seconds} s: ${hanging()}`);
  });
  return Promise.race([promise, limit]).finally(() => over.abort());
}
