import { expect, test } from 'vitest';
import { packageRoot } from '../src/package.ts';
import { measure, select } from '../tools/prose/measures.ts';
import { codeOf, pagesOf } from '../tools/prose/sentences.ts';

/** `npm run prose` prints these numbers for each room; with `-- --list where`, the sentences. They may only become better. */
const LIMITS = {
  code: { if: 74.1, where: 87.7, whoever: 18.1, others: 10.2, words: 12, long: 107 },
  pages: { if: 40.1, where: 37.7, whoever: 13.8, others: 15.6, words: 13.3, long: 21 },
};
const TEXTS = {
  code: codeOf(packageRoot).filter(({ path }) => !/^(?:test|tools)\//.test(path)),
  pages: pagesOf(packageRoot),
};

test.each(['code', 'pages'] as const)('the English of the %s is as plain as it was', (name) => {
  const [limits, found] = [LIMITS[name], measure(TEXTS[name])];
  expect(found.if, 'sentences in 1,000 with "if"').toBeGreaterThanOrEqual(limits.if);
  expect(found.where, '"where" for "if"').toBeLessThanOrEqual(limits.where);
  expect(found.whoever, '"whoever", "nobody", "somebody"').toBeLessThanOrEqual(limits.whoever);
  expect(found.others, '"others"').toBeLessThanOrEqual(limits.others);
  expect(found.words, 'words in a sentence').toBeLessThanOrEqual(limits.words);
  if (found.long > limits.long) expect(select(TEXTS[name], 'long')).toHaveLength(limits.long);
});
