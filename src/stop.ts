/** How a process ends: `finishing` lets the page in hand be committed, `leaving` drops it. */
export interface Stop {
  /** Aborted first: no new page is begun. */
  readonly finishing: AbortSignal;
  /** Aborted on a second signal or when finishing takes too long: requests are cut, transactions rolled back. */
  readonly leaving: AbortSignal;
}

/** Resolves as soon as the signal is aborted; at once where it was. */
export function untilAborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    signal.addEventListener('abort', () => resolve(), { once: true });
  });
}
