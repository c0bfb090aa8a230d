import { expect, test } from 'vitest';
import { packageRoot } from '../src/package.ts';
import { measure, select } from '../tools/prose/measures.ts';
import { codeOf, pagesOf, type Sentence } from '../tools/prose/sentences.ts';

/**
 * `npm run prose` prints these numbers for each room; with `-- --list where`, the sentences. They may only
 * become better.
 */
const LIMITS = {
  code: { if: 160, where: 4, whoever: 0, others: 7.1, words: 11.9, long: 0 },
  'tests and tools': { if: 85, where: 5, whoever: 0, others: 10, words: 12.5, long: 0 },
  pages: { if: 85, where: 4.1, whoever: 0, others: 6, words: 11.4, long: 0 },
};
const ALL_CODE = codeOf(packageRoot);
const isOfTests = ({ path }: Sentence) => /^(?:test|tools)\//.test(path);
const TEXTS = {
  code: ALL_CODE.filter((one) => !isOfTests(one)),
  'tests and tools': ALL_CODE.filter(isOfTests),
  pages: pagesOf(packageRoot),
};

test.each(['code', 'tests and tools', 'pages'] as const)(
  'the English of the %s is as plain as it was',
  (name) => {
    const [limits, found] = [LIMITS[name], measure(TEXTS[name])];
    expect(found.if, 'sentences in 1,000 with "if"').toBeGreaterThanOrEqual(limits.if);
    expect(found.where, '"where" for "if"').toBeLessThanOrEqual(limits.where);
    expect(found.whoever, '"whoever", "nobody", "somebody"').toBeLessThanOrEqual(limits.whoever);
    expect(found.others, '"others"').toBeLessThanOrEqual(limits.others);
    expect(found.words, 'words in a sentence').toBeLessThanOrEqual(limits.words);
    if (found.long > limits.long) expect(select(TEXTS[name], 'long')).toHaveLength(limits.long);
  },
);
