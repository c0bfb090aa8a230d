import { existsSync } from 'node:fs';

const PLACES = ['/usr/bin/promtool', '/usr/local/bin/promtool'];

/** Prometheus' own checker on this machine; undefined if there is none: then tests report that they were skipped. */
export const promtool: string | undefined = PLACES.find((path) => existsSync(path));

if (promtool === undefined)
  console.warn('alerts and metrics were not checked by promtool: apt-get install -y prometheus');
