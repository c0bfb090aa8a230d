/** Pages of the longest lease: few short pages at the end of leases, and enough leases to share. */
export const LONGEST_PAGES = 48;
/**
 * Pages of the shortest lease, as long as there are this many for each reader. Below this, the short page at its end
 * would cost more than an idle reader. Fewer pages are shared evenly, because no other reader would use the requests.
 */
const SHORTEST_PAGES = 4;
/**
 * The part of a page by which a lease is shorter. So its last page is nearly full, and an additional one is
 * seldom needed.
 */
const SPARE = 0.2;

/**
 * How many of the free seconds a reader takes: half of an even share. So leases become shorter towards the
 * end, and all readers are busy until then. Guided self-scheduling (Polychronopoulos and Kuck, 1987). Until a
 * first page has shown how much time a page holds, a reader takes all.
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
