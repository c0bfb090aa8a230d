import { describe, expect, test } from 'vitest';
import { UsageError } from '../../src/errors.ts';
import { FAULT_LINES, readFault } from '../../src/simulator/faults.ts';

describe('a fault on the command line', () => {
  test.each([
    ['badGateway=0.05', { badGateway: 0.05 }],
    ['timeoutAboveLimit=500', { timeoutAboveLimit: 500 }],
    ['storm=0.01x20', { storm: { probability: 0.01, length: 20 } }],
    ['lateBlocks=0.1x60', { lateBlocks: { probability: 0.1, seconds: 60 } }],
    [
      'holes=100-120,300-301',
      {
        holes: [
          { from: 100, to: 120 },
          { from: 300, to: 301 },
        ],
      },
    ],
    [
      'unservable=/api/v3/jetton/burns:0.01,/api/v3/transactions:hash=ab/c=',
      {
        unservable: [
          { path: '/api/v3/jetton/burns', share: 0.01 },
          { path: '/api/v3/transactions', member: 'hash', value: 'ab/c=' },
        ],
      },
    ],
    ['unservableAs=broken', { unservableAs: 'broken' }],
    ['lateSplit=40', { lateSplit: { seconds: 40 } }],
    ['lieAboutLimit=true', { lieAboutLimit: true }],
  ])('%s', (text, faults) => {
    expect(readFault(text)).toEqual(faults);
  });

  test('is explained in a sentence, with the form of its value', () => {
    expect(FAULT_LINES.length).toBeGreaterThan(25);
    for (const [name, does] of FAULT_LINES) expect(does, name).toMatch(/^[A-Z].{15,}\.$/);
    const lines = new Map(FAULT_LINES);
    expect(lines.get('badGateway')).not.toContain('Value:');
    expect(lines.get('holes')).toMatch(/ Value: .*100-120/);
    expect(lines.get('stormSays')).toMatch(/ Value: seconds or date\.$/);
    expect(lines.get('slowBodyMs')).toMatch(/ Value: milliseconds\.$/);
  });

  test('adds to those before it', () => {
    expect(readFault('stale=1', readFault('staleSeconds=5'))).toEqual({ stale: 1, staleSeconds: 5 });
  });

  test.each([
    'storm=0.1',
    'storm=2x5',
    'holes=5-3',
    'holes=',
    'lieAboutLimit=yes',
    'stale',
    'unservable=burns:1',
    'unservable=/a',
    'unservableAs=501',
    'toString=1',
  ])('%s is refused', (text) => {
    expect(() => readFault(text)).toThrow(UsageError);
  });
});
