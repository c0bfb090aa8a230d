/**
 * The elements of the array that is a member of a JSON object, as text, without reading a number: what was recorded is
 * served to the last digit. Undefined where there is no such array at the top.
 */
export function elementTexts(json: string, member: string): string[] | undefined {
  let depth = 0;
  for (let at = 0; at < json.length; at += 1) {
    const char = json[at];
    if (char === '"') {
      const end = endOfString(json, at);
      const isMember = depth === 1 && json.slice(at + 1, end) === member;
      at = end;
      const colon = skipSpace(json, end + 1);
      if (isMember && json[colon] === ':') {
        const open = skipSpace(json, colon + 1);
        return json[open] === '[' ? elementsFrom(json, open) : undefined;
      }
    } else if (char === '{' || char === '[') depth += 1;
    else if (char === '}' || char === ']') depth -= 1;
  }
  return undefined;
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
    else if (char === '{' || char === '[') depth += 1;
    else if (char === '}' || char === ']') {
      depth -= 1;
      if (depth === 0) {
        take(at);
        return elements;
      }
    } else if (char === ',' && depth === 1) take(at);
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
