import type { Config } from '../settings/config.ts';
import type { DoctorFinding } from './finding.ts';

/** What somebody set in the environment or `.env` although it has no effect. */
export function examineSettings({ warnings }: Config): DoctorFinding[] {
  return warnings.map((warning) => ({ check: 'settings', ...warning }));
}
