import { defineConfig } from 'vitest/config';
import { scratchDirectory } from './test/support/scratch.ts';

// Workers, and the processes that they start, inherit it.
process.env['TMPDIR'] = scratchDirectory();

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    globalSetup: ['test/support/database/global-setup.ts'],
    // A test that hangs is found; how busy the machine is, is none of a test's business.
    testTimeout: 300_000,
    hookTimeout: 300_000,
    expect: { poll: { timeout: 240_000 } },
    maxWorkers: 4,
    // A fifth of the suite's CPU went into loading the same modules for every file; what a test changes, it puts back.
    isolate: false,
    // Transformed modules are kept for the next run, which begins four seconds earlier.
    experimental: { fsModuleCache: true },
  },
});
