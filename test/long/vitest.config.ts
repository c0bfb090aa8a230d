import { defineConfig } from 'vitest/config';
import base from '../../vitest.config.ts';

/** Proofs that take minutes: `npx vitest run --config test/long/vitest.config.ts`. */
export default defineConfig({
  test: {
    ...base.test,
    include: ['test/long/**/*.long.ts'],
    testTimeout: 600_000,
    maxConcurrency: 6,
    // What one proof measures, another would disturb.
    fileParallelism: false,
    isolate: true,
  },
});
