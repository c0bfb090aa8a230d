/** Shorter ones stand in every text by chance, and are no secrets. */
const SHORTEST = 4;
/** Shorter ones may be a part of other words, which stay: they are found as a whole word alone. */
const UNIQUE = 16;
/** A piece of base64 that is shorter may stand anywhere by chance. */
const SHORTEST_CODE = 8;

/** Makes a function that takes secrets out of texts, however they are spelled there: as they are, in a URL, in JSON or in base64. */
export function createRedactor(
  secrets: readonly (string | undefined)[],
  label = '[redacted]',
): (text: string) => string {
  const spellings = new Set(secrets.flatMap((secret = '') => spellingsOf(secret)));
  // The longest first: another spelling may be a part of it.
  const steps = [...spellings].sort((a, b) => b.length - a.length).map((spelling) => step(spelling, label));
  return (text) => steps.reduce((redacted, replace) => replace(redacted), text);
}

/** How a secret may stand in a text; not at all where it is short. */
export function spellingsOf(secret: string): string[] {
  return secret.length < SHORTEST ? [] : [...new Set([...plain(secret), ...inBase64(secret)])];
}

function step(spelling: string, label: string): (text: string) => string {
  if (spelling.length >= UNIQUE) return (text) => text.replaceAll(spelling, label);
  const escaped = spelling.replaceAll(/[.*+?^${}()|[\]\\/]/g, String.raw`\$&`);
  const word = new RegExp(String.raw`(?<![\p{L}\p{N}_])${escaped}(?![\p{L}\p{N}_])`, 'gu');
  return (text) => text.replaceAll(word, () => label);
}

function plain(secret: string): string[] {
  const encoded = [encodeURIComponent(secret), new URLSearchParams({ '': secret }).toString().slice(1)];
  return [
    secret,
    ...encoded,
    ...encoded.map((text) => text.replaceAll(/%[\dA-F]{2}/g, (escape) => escape.toLowerCase())),
    JSON.stringify(secret).slice(1, -1),
  ];
}

/** By itself, and within something longer (such as `user:password`): what a code says there depends on the bytes before it. */
function inBase64(secret: string): string[] {
  const bytes = Buffer.from(secret);
  return (['base64', 'base64url'] as const).flatMap((encoding) => {
    const within = [0, 1, 2].map((before) => {
      const code = Buffer.concat([Buffer.alloc(before), bytes])
        .toString(encoding)
        .replaceAll('=', '');
      const isShared = (before + bytes.length) % 3 !== 0;
      return code.slice(Math.ceil((before * 8) / 6), isShared ? -1 : undefined);
    });
    return [bytes.toString(encoding), ...within].filter((code) => code.length >= SHORTEST_CODE);
  });
}

/** The parts of a URL's path, where providers of the API put keys. */
export function pathIn(url: string | undefined): string[] {
  if (url === undefined || !URL.canParse(url)) return [];
  return new URL(url).pathname.split('/');
}

/** A text without the login that URLs in it may carry. */
export function withoutLogin(text: string): string {
  return text.replaceAll(/:\/\/[^/\s]*@/g, '://…@');
}

/** The passwords in URLs, as they stand there and decoded. */
export function passwordsIn(...urls: readonly (string | undefined)[]): string[] {
  return urls
    .filter((url) => url !== undefined && URL.canParse(url))
    .map((url) => new URL(url ?? ''))
    .flatMap(({ password, searchParams }) => [
      password,
      decodeURIComponent(password),
      searchParams.get('password') ?? '',
    ])
    .filter((password) => password !== '');
}
