import { expect, test } from 'vitest';
import { streamFacts, describeStream } from '../../src/commands/datasets-command.ts';
import { datasetsNamed } from '../support/crawl.ts';

const HOUR = { from: 0, to: 3600 };

test('a described dataset promises a grade for what is verified, and no more than covered if no check can verify it', async () => {
  const [dataset] = await datasetsNamed('nominator_pool_events');
  const described = describeStream(dataset!, HOUR, 5);
  const facts = new Map(streamFacts(described).map(([title = '', text = '']) => [title, text]));
  expect(facts.get('at rest')).toMatch(/^[\d.]+ requests a minute for each pool$/);
  expect(facts.get('grade')).toBe('cross-checked, if it is verified');
  expect(streamFacts({ ...described, checks: [], grade: 'covered' })).toEqual(
    expect.arrayContaining([
      ['checks', 'none: it is never verified'],
      ['grade', 'covered'],
    ]),
  );
});
