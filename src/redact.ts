/** Shorter ones would blacken half of a text, and are no secrets. */
const SHORTEST = 4;

/** `text` without the secrets, in whatever form they stand there: as they are, in a URL, or in JSON. */
export function redact(text: string, secrets: readonly (string | undefined)[]): string {
  return secrets
    .filter((secret) => secret !== undefined && secret.length >= SHORTEST)
    .flatMap((secret = '') => [secret, encodeURIComponent(secret), JSON.stringify(secret).slice(1, -1)])
    .reduce((redacted, form) => redacted.replaceAll(form, '[redacted]'), text);
}

/** The passwords in URLs, as they stand there and decoded. */
export function passwordsIn(...urls: readonly (string | undefined)[]): string[] {
  return urls
    .filter((url) => url !== undefined && URL.canParse(url))
    .map((url) => new URL(url ?? '').password)
    .flatMap((password) => [password, decodeURIComponent(password)]);
}
