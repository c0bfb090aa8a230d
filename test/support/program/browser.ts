import { existsSync } from 'node:fs';
import { chromium, type Browser } from 'playwright-core';

const PLACES = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'];

/** The browser of this machine; undefined if there is none: then tests of pages report that they were skipped. */
export const browserPath: string | undefined = PLACES.find((path) => existsSync(path));

/** A real Chromium without a window. */
export function openBrowser(): Promise<Browser> {
  if (browserPath === undefined) throw new Error('no Chromium here: apt-get install -y chromium');
  return chromium.launch({
    executablePath: browserPath,
    // Root has no sandbox; a container has little shared memory.
    args: ['--no-sandbox', '--disable-dev-shm-usage', '--disable-gpu'],
  });
}
