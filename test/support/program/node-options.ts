/** The value of `NODE_OPTIONS` in a Dockerfile or a systemd unit. */
export function nodeOptionsOf(text: string): string {
  const [, options] = /^(?:ENV |Environment=)NODE_OPTIONS=(\S+)$/m.exec(text) ?? [];
  if (options === undefined) throw new Error('NODE_OPTIONS is not set there');
  return options;
}
