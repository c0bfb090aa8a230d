import { describe, expect, it } from 'vitest';
import { echoOf } from '../../../src/api/read-response.ts';

describe('the window that a response echoes', () => {
  it('is what the response has next to the records', () => {
    expect(echoOf({ events: [], start_utime: 5, end_utime: 9 })).toEqual({ start_utime: 5, end_utime: 9 });
    expect(echoOf({ events: [], end_utime: 9 })).toEqual({ end_utime: 9 });
  });

  it('is empty if none is sent', () => {
    expect(echoOf({ complaints: [] })).toEqual({});
    expect(echoOf({ events: [], start_utime: null })).toEqual({});
  });

  it('must be a number', () => {
    expect(() => echoOf({ start_utime: 'now' })).toThrow();
    expect(() => echoOf([])).toThrow();
  });
});
