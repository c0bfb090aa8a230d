/** A member of a token's on-chain content as text; null if it has no such text. */
export function contentText(content: unknown, name: string): string | null {
  const value = memberOf(content, name);
  return typeof value === 'string' ? value : null;
}

/** The decimals of a jetton, which contracts store as text; null if the value is not an integer from 0 to 255. */
export function contentDecimals(content: unknown): number | null {
  const value = memberOf(content, 'decimals');
  const text = typeof value === 'number' || typeof value === 'string' ? String(value) : '';
  return /^\d{1,3}$/.test(text) && Number(text) <= 255 ? Number(text) : null;
}

/** The members of a token's on-chain content that describe it, besides all of the content. */
export function contentDescription(content: unknown) {
  return {
    source: 'chain',
    name: contentText(content, 'name'),
    description: contentText(content, 'description'),
    image: contentText(content, 'image'),
    uri: contentText(content, 'uri'),
    content,
  };
}

function memberOf(content: unknown, name: string): unknown {
  return typeof content === 'object' && content !== null ? Reflect.get(content, name) : undefined;
}
