import { existsSync } from 'node:fs';

const PLACES = ['/usr/bin/promtool', '/usr/local/bin/promtool'];

/** Prometheus' own checker on this machine; undefined where there is none: then tests say that they were skipped. */
export const promtool: string | undefined = PLACES.find((path) => existsSync(path));

if (promtool === undefined)
  console.warn('alerts and metrics were not held against promtool: apt-get install -y prometheus');
