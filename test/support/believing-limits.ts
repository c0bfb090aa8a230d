import type { CrawlContext } from '../../src/crawl/crawl-context.ts';
import type { LimitTrust } from '../../src/crawl/request-bounds.ts';

const believing: LimitTrust = {
  limit: (wanted) => wanted,
  openSpan: () => ({
    judge: ({ asked }) => ({ size: asked, accept: () => undefined }),
    ended: () => undefined,
  }),
};

/** A crawl that believes every short page at once, so that each page is requested once. */
export function withBelievingLimits(context: CrawlContext): CrawlContext {
  return { ...context, tuning: (dataset) => ({ ...context.tuning(dataset), limits: believing }) };
}
