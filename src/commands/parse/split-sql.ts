/** Text that was typed so far: the statements in it that are complete, and what stands behind the last `;`. */
interface SplitSql {
  readonly statements: readonly string[];
  readonly rest: string;
}

/**
 * Postgres' tokens that may hold a semicolon without ending a statement: comments, strings (with backslashes where an E
 * stands before), quoted names, dollar quotes. Each is matched whole or, unterminated, not at all.
 */
const OPAQUE =
  /--[^\n]*|[eE]'(?:[^'\\]|\\.|'')*'|'(?:[^']|'')*'|"(?:[^"]|"")*"|(\$(?:[A-Za-z_]\w*)?\$)[\s\S]*?\1/y;

/**
 * Splits text at the semicolons that end statements. Statements come without their semicolon; empty ones are dropped. A
 * backslash where a statement could begin makes a command of the rest of its line, as in psql.
 */
export function splitSql(text: string): SplitSql {
  const statements: string[] = [];
  let start = 0;
  let at = 0;
  while (at < text.length) {
    if (text[at] === '\\' && !saysSomething(text.slice(start, at))) {
      const end = lineEnd(text, at);
      statements.push(text.slice(at, end).trim());
      start = at = end;
      continue;
    }
    if (text[at] === ';') {
      statements.push(text.slice(start, at).trim());
      start = at + 1;
    }
    const opaque = opaqueEnd(text, at);
    if (opaque === undefined) break;
    at = opaque;
  }
  return { statements: statements.filter(saysSomething), rest: text.slice(start).trim() };
}

/** True where text holds more than space and comments. */
export function saysSomething(text: string): boolean {
  return text.replaceAll(/--[^\n]*|\/\*[\s\S]*?\*\//g, '').trim() !== '';
}

function lineEnd(text: string, at: number): number {
  const end = text.indexOf('\n', at);
  return end === -1 ? text.length : end;
}

/** Where reading goes on after the token at `at`; undefined where it does not end in this text. */
function opaqueEnd(text: string, at: number): number | undefined {
  if (text.startsWith('/*', at)) return commentEnd(text, at);
  OPAQUE.lastIndex = at;
  if (OPAQUE.test(text)) return OPAQUE.lastIndex;
  const next = text.slice(at, at + 256);
  if (/^(?:[eE]?'|"|\$(?:[A-Za-z_]\w*)?\$)/.test(next)) return undefined;
  // A whole word at once: the dollar within `a$b$` opens no quote, and the e that ends `name` makes no E string.
  return at + (/^[A-Za-z_][\w$]*/.exec(next)?.[0].length ?? 1);
}

/** Comments nest in Postgres. */
function commentEnd(text: string, at: number): number | undefined {
  let depth = 0;
  for (let index = at; index < text.length; index += 1) {
    if (text.startsWith('/*', index)) {
      depth += 1;
      index += 1;
    } else if (text.startsWith('*/', index)) {
      depth -= 1;
      index += 1;
      if (depth === 0) return index + 1;
    }
  }
  return undefined;
}
