import { BlockList, isIP } from 'node:net';
import { UsageError } from '../errors.ts';
import { withoutLogin } from './redact.ts';

/** Returns the proxy for a URL; undefined if requests go there directly. */
export type ProxyFor = (url: string) => URL | undefined;

const DEFAULT_PORTS: ReadonlyMap<string, number> = new Map([
  ['http:', 80],
  ['https:', 443],
]);

/**
 * Reads `HTTP_PROXY`, `HTTPS_PROXY`, `ALL_PROXY` and `NO_PROXY` as curl does. Lower-case names win. An entry of
 * `NO_PROXY` is a domain with its subdomains, an IP address or a CIDR block, with or without a port; `*` matches
 * every host.
 * @throws UsageError if a proxy is not a URL of a supported kind
 */
export function readProxies(values: NodeJS.Dict<string>): ProxyFor {
  const get = (name: string) => values[name.toLowerCase()] || values[name.toUpperCase()];
  const all = proxyOf('ALL_PROXY', get('all_proxy'));
  const proxies = new Map([
    ['http:', proxyOf('HTTP_PROXY', get('http_proxy')) ?? all],
    ['https:', proxyOf('HTTPS_PROXY', get('https_proxy')) ?? all],
  ]);
  const direct = (get('no_proxy') ?? '').split(/[,\s]+/).filter((entry) => entry !== '');
  return (url) => {
    const { protocol, hostname, port } = new URL(url);
    const host = hostname.replace(/^\[(.*)\]$/, '$1').toLowerCase();
    const target = { host, port: port === '' ? DEFAULT_PORTS.get(protocol) : Number(port) };
    return direct.some((entry) => covers(entry, target)) ? undefined : proxies.get(protocol);
  };
}

function proxyOf(name: string, value: string | undefined): URL | undefined {
  if (value === undefined || value === '') return undefined;
  const text = value.includes('://') ? value : `http://${value}`;
  if (URL.canParse(text) && /^(?:https?|socks5h?):$/.test(new URL(text).protocol))
    return new URL(text.replace(/^socks5h:/, 'socks5:'));
  throw new UsageError(
    `${name} "${withoutLogin(value)}" is not the URL of a proxy, such as http://host:3128`,
  );
}

interface Target {
  /** In lower case. An IPv6 address has no brackets. */
  readonly host: string;
  readonly port: number | undefined;
}

function covers(entry: string, { host, port }: Target): boolean {
  if (entry === '*') return true;
  const [, name = '', only] = /^\[?(.*?)\]?(?::(\d+))?$/.exec(isIP(entry) === 6 ? `[${entry}]` : entry) ?? [];
  if (only !== undefined && Number(only) !== port) return false;
  const domain = name.toLowerCase().replace(/^\*?\./, '');
  return host === domain || host.endsWith(`.${domain}`) || isInBlock(host, domain);
}

function isInBlock(host: string, block: string): boolean {
  const [address = '', bits, ...rest] = block.split('/');
  const family = isIP(address) === 4 ? 'ipv4' : 'ipv6';
  const isBlock =
    bits !== undefined && rest.length === 0 && isIP(address) !== 0 && isIP(host) === isIP(address);
  if (!isBlock || !/^\d+$/.test(bits) || Number(bits) > (family === 'ipv4' ? 32 : 128)) return false;
  const list = new BlockList();
  list.addSubnet(address, Number(bits), family);
  return list.check(host, family);
}
