/**
 * The elements of the array that is a member of a JSON object, as text, without reading a number: what was recorded is
 * served to the last digit. Undefined if there is no such array at the top.
 */
export function elementTexts(json: string, member: string): string[] | undefined {
  let depth = 0;
  for (let at = 0; at < json.length; at += 1) {
    if (json[at] !== '"') {
      depth += nesting(json[at]);
      continue;
    }
    const end = endOfString(json, at);
    const isMember = depth === 1 && json.slice(at + 1, end) === member;
    const open = isMember ? valueAfter(json, end) : undefined;
    if (open !== undefined) return json[open] === '[' ? elementsFrom(json, open) : undefined;
    at = end;
  }
  return undefined;
}

/** How much deeper a character leads. */
function nesting(char: string | undefined): number {
  if (char === '{' || char === '[') return 1;
  return char === '}' || char === ']' ? -1 : 0;
}

/** Where the value of a name begins that ends at `end`; undefined if the string is no name. */
function valueAfter(json: string, end: number): number | undefined {
  const colon = skipSpace(json, end + 1);
  return json[colon] === ':' ? skipSpace(json, colon + 1) : undefined;
}

function elementsFrom(json: string, open: number): string[] {
  const elements: string[] = [];
  let depth = 0;
  let begin = open + 1;
  const take = (end: number) => {
    const text = json.slice(begin, end).trim();
    if (text !== '') elements.push(text);
    begin = end + 1;
  };
  for (let at = open; at < json.length; at += 1) {
    const char = json[at];
    if (char === '"') at = endOfString(json, at);
    else if (char === ',' && depth === 1) take(at);
    depth += nesting(char);
    if (depth === 0) {
      take(at);
      return elements;
    }
  }
  return elements;
}

/** The place of the quote that ends the string beginning at `at`. */
function endOfString(json: string, at: number): number {
  let end = at + 1;
  while (end < json.length && json[end] !== '"') end += json[end] === '\\' ? 2 : 1;
  return end;
}

function skipSpace(json: string, at: number): number {
  let place = at;
  while (/\s/.test(json[place] ?? 'x')) place += 1;
  return place;
}
