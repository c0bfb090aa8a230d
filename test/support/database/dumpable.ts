import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, symlink } from 'node:fs/promises';
import { delimiter, dirname, join } from 'node:path';
import { openEmbedded, type EmbeddedServer } from '../../../src/embedded/embedded.ts';

/** True if a program is on the `PATH`. */
export function installed(name: string): boolean {
  return (process.env['PATH'] ?? '').split(delimiter).some((folder) => existsSync(join(folder, name)));
}

const configured = (what: string): string => execFileSync('pg_config', [what]).toString().trim();

/** The directories of an installed Postgres, in the layout of the npm package. */
async function asPackaged(bin: string, native: string): Promise<string> {
  await mkdir(join(native, 'share'), { recursive: true });
  await symlink(bin, join(native, 'bin'));
  await symlink(configured('--pkglibdir'), join(native, 'lib'));
  await symlink(configured('--sharedir'), join(native, 'share', 'postgresql'));
  return native;
}

/** A server, and whether `pg_dump` of this machine can read it. */
export interface DumpableServer extends EmbeddedServer {
  readonly canDump: boolean;
}

/** A server of `pg_dump`'s version, or else the embedded one, which pg_dump of this machine cannot read. */
export async function openDumpable(dataDir: string): Promise<DumpableServer> {
  const bin = installed('pg_config') ? configured('--bindir') : '';
  const canDump = existsSync(join(bin, 'initdb')) && existsSync(join(bin, 'pg_dump'));
  const settings = { fsync: 'off', shared_buffers: '64MB' };
  const native = canDump ? await asPackaged(bin, join(dirname(dataDir), 'native')) : undefined;
  const server = await openEmbedded({ dataDir, settings, ...(native !== undefined && { native }) });
  return { ...server, canDump };
}
