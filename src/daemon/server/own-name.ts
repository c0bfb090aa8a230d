import { isIP } from 'node:net';

/** Names that no public server hands out: of the local network, and those that are kept for it. */
const LOCAL = /^[^.]+$|\.(local|internal|localhost|home\.arpa)$/;

/**
 * True of a `Host` header by which this server may be asked. A page of the web can let a public name of its own lead to
 * this machine, and would then read what is served here; it can do so with no address and no local name.
 */
export function isOwnName(host: string | undefined, listen: string): boolean {
  if (host === undefined) return true;
  const name = nameIn(host);
  return name !== undefined && (isIP(name) !== 0 || LOCAL.test(name) || name === nameIn(listen));
}

/** Without port, brackets and a last dot, in small letters; undefined where it is no name. */
function nameIn(host: string): string | undefined {
  const url = URL.canParse(`http://${host}`) ? new URL(`http://${host}`) : undefined;
  return url?.hostname.replace(/^\[|\]$|\.$/g, '');
}
