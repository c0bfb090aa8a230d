import { parseAddress } from '../json/address-json.ts';
import { ServedError } from './served-error.ts';

const TRUE = ['1', 't', 'T', 'TRUE', 'true', 'True'];
const FALSE = ['', '0', 'f', 'F', 'FALSE', 'false', 'False'];

/**
 * A query string as the server decodes it. Repeated keys are arrays, but of a repeated scalar the last value counts. An
 * empty scalar is zero, unknown names are ignored, and a value that cannot be converted is a 422.
 */
export class Query {
  private readonly values = new Map<string, string[]>();
  /** The greatest limit that is taken. */
  readonly most: number;

  constructor(search: URLSearchParams, most = 1000) {
    this.most = most;
    for (const [name, value] of search) {
      const key = name.endsWith('[]') ? name.slice(0, -2) : name;
      const list = this.values.get(key);
      if (list === undefined) this.values.set(key, [value]);
      else list.push(value);
    }
  }

  has(name: string): boolean {
    return this.values.has(name);
  }

  text(name: string): string | undefined {
    return this.values.get(name)?.at(-1);
  }

  first(name: string): string | undefined {
    return this.values.get(name)?.[0];
  }

  texts(...names: readonly string[]): string[] {
    return names.flatMap((name) => this.values.get(name) ?? []);
  }

  int32(name: string): number | undefined {
    return this.scalar(name, (text) => (text === '' ? 0 : parseInt32(text)));
  }

  /** An lt. Beyond 2^53 it would lose its last digits, but no lt of a simulated network is so large. */
  uint64(name: string): number | undefined {
    return this.scalar(name, (text) => (text === '' ? 0 : parseUint64(text)));
  }

  bool(name: string): boolean | undefined {
    return this.scalar(name, (text) =>
      TRUE.includes(text) ? true : FALSE.includes(text) ? false : undefined,
    );
  }

  utime(name: string): number | undefined {
    return this.scalar(name, parseUtime);
  }

  /** Upper-case hex without padding, as blocks print their shard. */
  shard(name: string): string | undefined {
    return this.scalar(name, parseShard);
  }

  /** `0x` and eight lower-case digits. */
  opcode(name: string): string | undefined {
    return this.scalar(name, parseOpcode);
  }

  hash(name: string): string | undefined {
    return this.scalar(name, parseHash);
  }

  address(name: string): string | undefined {
    return this.scalar(name, parseAddress);
  }

  hashes(...names: readonly string[]): string[] {
    return names.flatMap((name) => this.list(name, parseHash));
  }

  addresses(...names: readonly string[]): string[] {
    return names.flatMap((name) => this.list(name, parseAddress));
  }

  private scalar<T>(name: string, convert: (text: string) => T | undefined): T | undefined {
    const text = this.text(name);
    if (text === undefined) return undefined;
    const value = convert(text);
    if (value === undefined) throw conversionError(`"${name}"`);
    return value;
  }

  /** A list that is joined by commas is split only if the whole text is not a value: the decoder does so. */
  private list<T>(name: string, convert: (text: string) => T | undefined): T[] {
    return this.texts(name).flatMap((text, index) => {
      const whole = convert(text);
      if (whole !== undefined) return [whole];
      return text.split(',').map((part) => {
        const value = convert(part);
        if (value === undefined) throw conversionError(`index ${index} of "${name}"`);
        return value;
      });
    });
  }
}

function conversionError(what: string): ServedError {
  return new ServedError(422, `failed to decode: schema: error converting value for ${what}`);
}

function parseInt32(text: string): number | undefined {
  if (!/^[+-]?\d+$/.test(text)) return undefined;
  const value = Number(text);
  return value >= -2147483648 && value <= 2147483647 ? value : undefined;
}

function parseUint64(text: string): number | undefined {
  if (!/^\d{1,20}$/.test(text) || BigInt(text) > 0xffffffffffffffffn) return undefined;
  return Number(text);
}

/** A negative one becomes the unsigned number of the same bits, which no row reaches. */
function parseUtime(text: string): number | undefined {
  if (!/^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i.test(text)) return undefined;
  const value = Math.trunc(Number(text));
  return value >= -2147483648 && value <= 4294967295 ? value >>> 0 : undefined;
}

function parseShard(text: string): string | undefined {
  const hex = /^(?:0x)?([0-9a-fA-F]{1,16})$/.exec(text)?.[1];
  if (hex !== undefined) return BigInt(`0x${hex}`).toString(16).toUpperCase();
  if (!/^-?\d{1,20}$/.test(text)) return undefined;
  return BigInt.asUintN(64, BigInt(text)).toString(16).toUpperCase();
}

function parseOpcode(text: string): string | undefined {
  const hex = /^(?:0x)?([0-9a-fA-F]{1,8})$/.exec(text)?.[1];
  const value = hex === undefined ? Number(/^-?\d{1,10}$/.exec(text)?.[0]) : Number.parseInt(hex, 16);
  if (!Number.isFinite(value) || value < -2147483648 || value > 4294967295) return undefined;
  return `0x${(value >>> 0).toString(16).padStart(8, '0')}`;
}

function parseHash(text: string): string | undefined {
  const hex = /^(?:0x)?([0-9a-fA-F]{64})$/.exec(text)?.[1];
  if (hex !== undefined) return Buffer.from(hex, 'hex').toString('base64');
  if (!/^[A-Za-z0-9+/_-]{43}=?$/.test(text)) return undefined;
  return Buffer.from(text.replaceAll('-', '+').replaceAll('_', '/'), 'base64').toString('base64');
}
