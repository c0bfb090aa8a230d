import { UsageError } from '../errors.ts';

/** First byte of a friendly address: its kind, and whether it is for test networks only. */
const BOUNCEABLE = 0x11;
const NON_BOUNCEABLE = 0x51;
const TEST_ONLY = 0x80;

const RAW = /^(-?\d{1,10}):([0-9a-fA-F]{64})$/;
/**
 * The address of an account in its raw form: a workchain that the masterchain knows, and 64 hex digits in
 * upper case. The expression means the same in Postgres.
 */
export const ACCOUNT = /^(?:-1|0):[0-9A-F]{64}$/;

const BARE_HEX = /^[0-9a-fA-F]{64}$/;
const FRIENDLY = /^[A-Za-z0-9+/_-]{48}$/;

const FORMS =
  'Write it as workchain:hex, as 64 hex digits (basechain), or as the 48 characters of a wallet (EQ…, UQ…).';

interface AddressReading {
  /** False refuses addresses that are marked for test networks only; undefined ignores the mark. */
  readonly testnet?: boolean;
}

/**
 * The raw form of an account's address in data: from raw in either case, or friendly with a correct checksum.
 * Undefined for anything else, also for 64 hex digits alone, because they lack the workchain.
 */
export function readAddress(text: string): string | undefined {
  const raw = RAW.exec(text);
  if (raw !== null) return `${Number(raw[1])}:${(raw[2] ?? '').toUpperCase()}`;
  if (!FRIENDLY.test(text)) return undefined;
  const bytes = Buffer.from(text, 'base64');
  const isKnown = [BOUNCEABLE, NON_BOUNCEABLE].includes(bytes.readUInt8(0) & ~TEST_ONLY);
  const isWhole = bytes.readUInt16BE(34) === crc16(bytes.subarray(0, 34));
  return isKnown && isWhole ? rawOf(bytes) : undefined;
}

/** The raw form of the 36 bytes of a friendly address. */
function rawOf(bytes: Buffer): string {
  return `${bytes.readInt8(1)}:${bytes.toString('hex', 2, 34).toUpperCase()}`;
}

/**
 * The raw form of an address, `workchain:HEX` in upper case. `text` may be raw, 64 hex digits (of the basechain), or
 * friendly in base64 or base64url, and then its checksum is verified.
 * @throws UsageError with the reason
 */
export function parseAddress(text: string, { testnet }: AddressReading = {}): string {
  const word = text.trim();
  const raw = RAW.exec(word);
  if (raw !== null) return rawAddress(word, Number(raw[1]), raw[2] ?? '');
  if (BARE_HEX.test(word)) return rawAddress(word, 0, word);
  if (FRIENDLY.test(word)) return parseFriendly(word, testnet);
  throw refusal(word, `it has ${word.length} characters and matches no form of an address`);
}

function rawAddress(word: string, workchain: number, hex: string): string {
  if (workchain !== (workchain | 0)) throw refusal(word, `there is no workchain ${workchain}`);
  return `${workchain}:${hex.toUpperCase()}`;
}

/** Friendly form: kind, workchain, 32 bytes of hash, CRC-16 of all of them; 36 bytes in base64 of either alphabet. */
function parseFriendly(word: string, testnet: boolean | undefined): string {
  const bytes = Buffer.from(word, 'base64');
  if (bytes.readUInt16BE(34) !== crc16(bytes.subarray(0, 34))) {
    throw refusal(word, 'its checksum is wrong: a character is missing or mistyped');
  }
  const kind = bytes.readUInt8(0);
  if (![BOUNCEABLE, NON_BOUNCEABLE].includes(kind & ~TEST_ONLY)) {
    throw refusal(word, `its first byte, 0x${kind.toString(16)}, is of no known kind`);
  }
  if (testnet === false && (kind & TEST_ONLY) !== 0) {
    throw refusal(word, 'it is marked for test networks only, and this is not one');
  }
  return rawOf(bytes);
}

interface AddressWriting {
  /** Whether money that the account cannot receive returns to the sender: EQ… (true) or UQ… . */
  readonly bounceable?: boolean;
  /** Marks it for test networks only: kQ…, 0Q… . */
  readonly testnet?: boolean;
}

/** The friendly form in base64url of a raw address, as wallets and explorers show it. */
export function formatAddress(
  raw: string,
  { bounceable = true, testnet = false }: AddressWriting = {},
): string {
  const [workchain, hex] = parseAddress(raw).split(':');
  const bytes = Buffer.alloc(36);
  bytes.writeUInt8((bounceable ? BOUNCEABLE : NON_BOUNCEABLE) | (testnet ? TEST_ONLY : 0), 0);
  bytes.writeInt8(Number(workchain), 1);
  bytes.write(hex ?? '', 2, 'hex');
  bytes.writeUInt16BE(crc16(bytes.subarray(0, 34)), 34);
  return bytes.toString('base64url');
}

/** CRC-16/XMODEM: polynomial 0x1021, from 0, no reflection. */
function crc16(bytes: Uint8Array): number {
  let crc = 0;
  for (const byte of bytes) {
    crc ^= byte << 8;
    for (let bit = 0; bit < 8; bit += 1) crc = (crc & 0x8000) === 0 ? crc << 1 : (crc << 1) ^ 0x1021;
    crc &= 0xffff;
  }
  return crc;
}

function refusal(word: string, reason: string): UsageError {
  return new UsageError(`"${word}" is not an address: ${reason}`, { hint: FORMS });
}

const HEX = /^(?:0x)?([0-9a-f]{64})$/i;
/** 43 digits hold 258 bits, so the lowest two bits of the last digit must be 0. */
const BASE64 = /^[A-Za-z0-9+/_-]{42}[AEIMQUYcgkosw048]=?$/;

/**
 * A 256-bit hash in base64 with padding, as the API prints it and the tables store it, from hex (with or
 * without 0x), base64 or base64url. Undefined for anything else.
 */
export function readHash(text: string): string | undefined {
  const hex = HEX.exec(text)?.[1];
  if (hex !== undefined) return Buffer.from(hex, 'hex').toString('base64');
  // Node decodes both alphabets.
  return BASE64.test(text) ? Buffer.from(text, 'base64').toString('base64') : undefined;
}

/**
 * Like `readHash`, for user input.
 * @throws UsageError for anything else
 */
export function parseHash(text: string): string {
  const hash = readHash(text.trim());
  if (hash !== undefined) return hash;
  throw new UsageError(`"${text}" is not a hash`, {
    hint: 'A hash is 64 hex digits (0x may stand before them), or 44 characters of base64 or base64url.',
  });
}
