/**
 * The answers to statements that were sent to one transaction without waiting for each other; the server runs them in
 * the order in which they were sent. All are waited for, also where one fails: none may go on behind its transaction.
 * @throws what the first of them failed with, in the order given
 */
export async function answersOf<T extends readonly Promise<unknown>[]>(
  sent: readonly [...T],
): Promise<{ -readonly [At in keyof T]: Awaited<T[At]> }> {
  await Promise.allSettled(sent);
  for (const answer of sent) await answer;
  return Promise.all(sent);
}
