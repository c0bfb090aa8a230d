import { openFolder } from '../folder.ts';

/** One file a table, or some that belong together. */
export const folder = openFolder(new URL('../tables/', import.meta.url));
