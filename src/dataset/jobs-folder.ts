import { openFolder } from '../folder.ts';

/** One file for each dataset. */
export const folder = openFolder(new URL('../../jobs/', import.meta.url));
