/** Shorter ones would blacken half of a text, and are no secrets. */
const SHORTEST = 4;

/** `text` without the secrets, in whatever form they stand there: as they are, in a URL, or in JSON. */
export function redact(text: string, secrets: readonly (string | undefined)[]): string {
  const forms = secrets
    .filter((secret) => secret !== undefined && secret.length >= SHORTEST)
    .flatMap((secret = '') => [secret, encodeURIComponent(secret), JSON.stringify(secret).slice(1, -1)]);
  // The longest first: another form may be a part of it.
  return [...new Set(forms)]
    .sort((a, b) => b.length - a.length)
    .reduce((redacted, form) => redacted.replaceAll(form, '[redacted]'), text);
}

/** The passwords in connection strings and URLs, as they stand there and decoded. */
export function passwordsIn(...urls: readonly (string | undefined)[]): string[] {
  return urls.flatMap((url = '') => {
    const encoded = URL.canParse(url) ? new URL(url) : undefined;
    const password = encoded?.password ?? '';
    const parameter = encoded?.searchParams.get('password') ?? '';
    return [password, decodeURIComponent(password), parameter];
  });
}
