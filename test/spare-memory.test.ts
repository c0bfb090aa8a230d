import { expect, it } from 'vitest';
import { giveMemory, takeMemory } from '../src/spare-memory.ts';

const LARGE = 300_000;

it('gives memory again to the next one who needs as much', () => {
  const memory = takeMemory(LARGE);
  expect(memory.byteLength).toBeGreaterThanOrEqual(LARGE);
  giveMemory(memory);
  expect(takeMemory(LARGE - 1000)).toBe(memory);
  expect(takeMemory(LARGE)).not.toBe(memory);
});

it('gives it to one at a time, also where it was given back twice', () => {
  const memory = takeMemory(LARGE);
  giveMemory(memory);
  giveMemory(memory);
  const both = [takeMemory(LARGE), takeMemory(LARGE)];
  expect(new Set(both).size).toBe(2);
});

it.each([
  ['of others', () => new ArrayBuffer(2 ** 19)],
  ['that is shared with others', () => new SharedArrayBuffer(2 ** 19)],
  [
    'that another thread has',
    () => {
      const memory = takeMemory(2 ** 19);
      structuredClone(memory, { transfer: [memory] });
      return memory;
    },
  ],
])('takes no memory %s', (_, make) => {
  const memory = make();
  giveMemory(memory);
  const next = takeMemory(2 ** 19);
  expect(next).not.toBe(memory);
  expect(next.byteLength).toBe(2 ** 19);
});

it('does not keep what is small', () => {
  const memory = takeMemory(10);
  expect(memory.byteLength).toBe(10);
  giveMemory(memory);
  expect(takeMemory(10)).not.toBe(memory);
});
