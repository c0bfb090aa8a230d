import type { Session } from '../connection/database.ts';
import { decideSetting, readSetting } from '../settings.ts';

/** Unix seconds of the first block of the live demo network that this database follows; undefined where it follows none. */
export async function readDemoGenesis(session: Session): Promise<number | undefined> {
  return (await readSetting(session, 'demo'))?.genesis;
}

/** Decides it, once: what an earlier start has stored stays. */
export async function keepDemoGenesis(session: Session, genesis: number): Promise<number> {
  return (await decideSetting(session, 'demo', { genesis })).genesis;
}
