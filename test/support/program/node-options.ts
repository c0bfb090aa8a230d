/** What a Dockerfile or a unit of systemd sets `NODE_OPTIONS` to. */
export function nodeOptionsOf(text: string): string {
  const [, options] = /^(?:ENV |Environment=)NODE_OPTIONS=(\S+)$/m.exec(text) ?? [];
  if (options === undefined) throw new Error('nobody sets NODE_OPTIONS there');
  return options;
}
