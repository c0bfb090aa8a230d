import { describe, expect, test } from 'vitest';
import { hasText, splitSql } from '../../../src/commands/prompt.ts';

describe('statements are split at the semicolons that end them', () => {
  test.each([
    ['two statements', 'select 1; select 2;', ['select 1', 'select 2'], ''],
    ['the last one may lack its semicolon', 'select 1; select 2', ['select 1'], 'select 2'],
    ['empty ones are dropped', ' ;; -- nothing\n; select 1;', ['select 1'], ''],
    ['a semicolon in a string', "select 'a;b', 'it''s;';", ["select 'a;b', 'it''s;'"], ''],
    ['a backslash is plain in a string', "select 'a\\'; select 2;", ["select 'a\\'", 'select 2'], ''],
    ['and escapes in an E string', "select E'a\\';b';", ["select E'a\\';b'"], ''],
    ['a semicolon in a quoted name', 'select "a;b";', ['select "a;b"'], ''],
    ['in a line comment', 'select 1 -- a; b\n;', ['select 1 -- a; b'], ''],
    ['in nested comments', 'select /* a; /* b; */ c; */ 1;', ['select /* a; /* b; */ c; */ 1'], ''],
    ['in dollar quotes', 'do $x$ begin; $$ ; end $x$;', ['do $x$ begin; $$ ; end $x$'], ''],
    ['commands have a line each', '\\d blocks\nselect 1;\n -- a\n\\x', ['\\d blocks', 'select 1', '\\x'], ''],
    ['within a statement a backslash is its own', 'select\n\\d;', ['select\n\\d'], ''],
    ['a dollar within a name opens no quote', 'select a$b$ ; select 1;', ['select a$b$', 'select 1'], ''],
  ])('%s', (_, text, statements, rest) => {
    expect(splitSql(text)).toEqual({ statements, rest });
  });

  test.each(["select 'a; b", "select E'a\\'; b", 'select "a; b', 'select /* a; b', 'do $$ a; b'])(
    'an unfinished statement is not split: %s',
    (text) => {
      expect(splitSql(text)).toEqual({ statements: [], rest: text });
    },
  );

  test('comments alone are no statement', () => {
    expect(hasText(' /* a */ -- b')).toBe(false);
    expect(hasText('select 1')).toBe(true);
  });
});
