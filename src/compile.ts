import { compileFunction } from 'node:vm';

/**
 * Compiles a function whose source the program has put together itself, from names and constants of its own: never from
 * anything that was read. `source` is an expression; `scope` are the values that it may use, by name.
 */
export function compile(source: string, scope: Readonly<Record<string, unknown>>): unknown {
  const made = compileFunction(`'use strict'; return (${source});`, Object.keys(scope));
  const result: unknown = Reflect.apply(made, undefined, Object.values(scope));
  return result;
}
