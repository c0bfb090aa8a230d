import { compileFunction } from 'node:vm';

/**
 * Compiles a function from source that the program has generated from its own names and constants, never from
 * input. `source` is an expression; `scope` has the values that it may use, by name.
 */
export function compile(source: string, scope: Readonly<Record<string, unknown>>): unknown {
  const made = compileFunction(`'use strict'; return (${source});`, Object.keys(scope));
  const result: unknown = Reflect.apply(made, undefined, Object.values(scope));
  return result;
}
