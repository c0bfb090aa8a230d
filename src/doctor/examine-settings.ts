import type { Config } from '../settings/config.ts';
import type { DoctorFinding } from './finding.ts';

/** Names in the environment or in `.env` that look like settings and are none. */
export function examineSettings({ unknownSettings }: Config): DoctorFinding[] {
  return unknownSettings.map(({ name, nearest }) => ({
    check: 'settings',
    what: `${name} is not a setting and has no effect`,
    remedy:
      nearest === undefined
        ? 'Remove it from the environment or .env.'
        : `Write ${nearest} if that is meant, else remove it from the environment or .env.`,
  }));
}
