/** CRC-16/XMODEM, as user-friendly addresses carry it. */
function crc16(bytes: Uint8Array): number {
  let crc = 0;
  for (const byte of bytes) {
    crc ^= byte << 8;
    for (let bit = 0; bit < 8; bit++) crc = ((crc & 0x8000) === 0 ? crc << 1 : (crc << 1) ^ 0x1021) & 0xffff;
  }
  return crc;
}

/** The raw form (`0:HEX`, upper case) of an address in any of the forms that the API takes, or undefined. */
export function parseAddress(text: string): string | undefined {
  const raw = /^(-?\d{1,10}):([0-9a-fA-F]{64})$/.exec(text);
  if (raw?.[1] !== undefined && raw[2] !== undefined) return `${raw[1]}:${raw[2].toUpperCase()}`;
  if (!/^[A-Za-z0-9+/_-]{48}$/.test(text)) return undefined;
  const bytes = Buffer.from(text.replaceAll('-', '+').replaceAll('_', '/'), 'base64');
  if (bytes.length !== 36 || crc16(bytes.subarray(0, 34)) !== bytes.readUInt16BE(34)) return undefined;
  return `${bytes.readInt8(1)}:${bytes.toString('hex', 2, 34).toUpperCase()}`;
}

/** The user-friendly form (base64url) of a raw address. */
export function friendlyAddress(raw: string, bounceable: boolean, testnet: boolean): string {
  const colon = raw.indexOf(':');
  const bytes = Buffer.alloc(36);
  bytes[0] = (bounceable ? 0x11 : 0x51) | (testnet ? 0x80 : 0);
  bytes.writeInt8(Number(raw.slice(0, colon)), 1);
  bytes.write(raw.slice(colon + 1), 2, 'hex');
  bytes.writeUInt16BE(crc16(bytes.subarray(0, 34)), 34);
  return bytes.toString('base64url');
}
