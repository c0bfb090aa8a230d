/** Works with something that was opened, and closes it however that ends. */
export async function closeAfter<O extends { close(): Promise<unknown> }, T>(
  opened: O,
  work: (opened: O) => Promise<T>,
): Promise<T> {
  try {
    return await work(opened);
  } finally {
    await opened.close();
  }
}
