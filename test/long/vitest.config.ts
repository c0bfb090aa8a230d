import { defineConfig } from 'vitest/config';
import { scratchDirectory } from '../support/scratch.ts';

process.env['TMPDIR'] = scratchDirectory();

/** Proofs that take minutes: `npx vitest run --config test/long/vitest.config.ts`. */
export default defineConfig({
  test: {
    include: ['test/long/**/*.long.ts'],
    globalSetup: ['test/support/database/global-setup.ts'],
    testTimeout: 600_000,
    hookTimeout: 60_000,
    maxConcurrency: 6,
    // What one proof measures, another would disturb.
    fileParallelism: false,
  },
});
