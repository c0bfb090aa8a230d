/** Name of the comparison with the source. */
export const DEEP = 'deep';
