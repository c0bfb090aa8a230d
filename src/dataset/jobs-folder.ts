import { openFolder } from '../folder.ts';

/** One file a dataset. */
export const folder = openFolder(new URL('../../jobs/', import.meta.url));
