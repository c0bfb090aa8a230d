import { defineConfig } from 'vitest/config';
import base from '../../vitest.config.ts';

/** Proofs that take minutes: `npx vitest run --config test/long/vitest.config.ts`. */
export default defineConfig({
  test: {
    ...base.test,
    include: ['test/long/**/*.long.ts'],
    testTimeout: 600_000,
    maxConcurrency: 6,
    // Proofs at the same time would disturb each other's measurements.
    fileParallelism: false,
    isolate: true,
  },
});
