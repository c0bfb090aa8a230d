import { stat } from 'node:fs/promises';
import type { Config } from '../settings/config.ts';
import type { DoctorFinding } from './doctor-finding.ts';

/** Reports settings that have no effect, and a `.env` that other users can read. */
export async function examineSettings({ warnings }: Config): Promise<DoctorFinding[]> {
  return [...warnings, ...(await openFile())].map((warning) => ({ check: 'settings', ...warning }));
}

const READABLE_BY_OTHERS = 0o044;

/** `.env` often contains the key and the database's password. */
async function openFile(): Promise<Omit<DoctorFinding, 'check'>[]> {
  const found = await stat('.env').catch(() => undefined);
  if (found === undefined || (found.mode & READABLE_BY_OTHERS) === 0) return [];
  return [{ what: 'other users of this machine can read .env', remedy: 'Run chmod 600 .env.' }];
}
