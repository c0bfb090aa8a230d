import { isIP } from 'node:net';
import { hostname } from 'node:os';

/**
 * True for a `Host` header by which this server may be meant: an address, a name without a dot (localhost, a service of
 * compose), the machine's own name, or the name in ETL_LISTEN. A page of any website can make its own name lead here
 * (DNS rebinding), and would then read what is served; such a name has a dot.
 */
export function isOwnName(host: string | undefined, listen: string): boolean {
  const name = nameOf(host ?? '');
  if (name === undefined) return false;
  return (
    isIP(name) > 0 || !name.includes('.') || name === hostname().toLowerCase() || name === nameOf(listen)
  );
}

function nameOf(authority: string): string | undefined {
  const url = `http://${authority}`;
  return URL.canParse(url) ? new URL(url).hostname.replace(/^\[|\]$/g, '').replace(/\.$/, '') : undefined;
}
