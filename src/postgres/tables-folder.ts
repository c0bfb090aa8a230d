import { openFolder } from '../folder.ts';

/** The files of `src/tables/`: one for each table, or for some that belong together. */
export const folder = openFolder(new URL('../tables/', import.meta.url));
