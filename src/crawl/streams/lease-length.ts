/** Pages of the longest lease: few short pages at its end, and enough leases to share. */
export const LONGEST_PAGES = 48;
/**
 * Pages of the shortest, as long as there are so many for each reader: below this the short page at its end would cost
 * more than a reader that is idle. What is left in the end is shared evenly: nobody else would use the requests.
 */
const SHORTEST_PAGES = 4;
/** By how much of a page a lease is shorter: its last page is nearly full, and seldom is one more needed. */
const SPARE = 0.2;

/**
 * How many of the free seconds one of so many readers takes: half of an even share, so that leases become shorter
 * towards the end and all readers are busy until then. Guided self-scheduling (Polychronopoulos and Kuck, 1987). All
 * there is, until a page has come: nobody knows how much time one holds.
 */
export function leaseLength(readers: number, pageSeconds: number | undefined): (free: number) => number {
  if (pageSeconds === undefined) return (free) => free;
  return (free) => {
    const share = free / pageSeconds / Math.max(1, readers);
    const shortest = Math.min(SHORTEST_PAGES, Math.ceil(share));
    const pages = Math.min(LONGEST_PAGES, Math.max(1, shortest, Math.floor(share / 2)));
    return Math.max(1, Math.floor((pages - SPARE) * pageSeconds));
  };
}
