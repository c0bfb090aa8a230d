/** Shorter secrets occur in any text by chance, and are not redacted. */
const SHORTEST = 4;
/** Shorter secrets may be a part of other words, so only whole words are redacted. */
const UNIQUE = 16;
/** Shorter pieces of base64 occur by chance. */
const SHORTEST_CODE = 8;

/** Creates a function that replaces secrets in texts, whether they are plain, URL-encoded, in JSON or in base64. */
export function createRedactor(
  secrets: readonly (string | undefined)[],
  label = '[redacted]',
): (text: string) => string {
  const spellings = new Set(secrets.flatMap((secret = '') => spellingsOf(secret)));
  // The longest first: it may contain another spelling.
  const steps = [...spellings].sort((a, b) => b.length - a.length).map((spelling) => step(spelling, label));
  return (text) => steps.reduce((redacted, replace) => replace(redacted), text);
}

/** The spellings of a secret; none if it is too short. */
export function spellingsOf(secret: string): string[] {
  return secret.length < SHORTEST ? [] : [...new Set([...plain(secret), ...inBase64(secret)])];
}

function step(spelling: string, label: string): (text: string) => string {
  if (spelling.length >= UNIQUE || looksLikeKey(spelling)) return (text) => text.replaceAll(spelling, label);
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

/**
 * In base64, alone and within a longer text (such as `user:password`), where the encoding depends on the bytes before it.
 */
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

/** The parts of a URL's path: some providers of the API put keys there. */
export function pathIn(url: string | undefined): string[] {
  if (url === undefined || !URL.canParse(url)) return [];
  return new URL(url).pathname.split('/');
}

/** Those parts of a URL's path that look like keys. */
export function keysInPath(url: string): string[] {
  return pathIn(url).filter(looksLikeKey);
}

/** True for letters with digits, unless they are few: no word contains them. */
function looksLikeKey(text: string): boolean {
  return text.length >= SHORTEST_CODE && /\d/.test(text) && /[a-z]/i.test(text);
}

/** Removes the logins from URLs in a text. */
export function withoutLogin(text: string): string {
  return text.replaceAll(/:\/\/[^/\s]*@/g, '://…@');
}

/** The passwords in URLs, as written and decoded. */
export function passwordsIn(...urls: readonly (string | undefined)[]): string[] {
  return urls
    .flatMap((url) => (url !== undefined && URL.canParse(url) ? [new URL(url)] : []))
    .flatMap(({ password, searchParams }) => [
      password,
      isEncoded(password) ? decodeURIComponent(password) : '',
      searchParams.get('password') ?? '',
    ])
    .filter((password) => password !== '');
}

/** False if a percent sign begins no character. */
export function isEncoded(text: string): boolean {
  try {
    decodeURIComponent(text);
    return true;
  } catch {
    return false;
  }
}
