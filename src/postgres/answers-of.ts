/**
 * Waits for the answers to statements that were sent to one transaction without waiting for each other. The server
 * runs them in the order in which they were sent. If one fails, the others are still waited for, so that none runs
 * after its transaction has ended.
 * @throws the error of the first statement that failed, in the given order
 */
export async function answersOf<T extends readonly Promise<unknown>[]>(
  sent: readonly [...T],
): Promise<{ -readonly [At in keyof T]: Awaited<T[At]> }> {
  await Promise.allSettled(sent);
  for (const answer of sent) await answer;
  return Promise.all(sent);
}
