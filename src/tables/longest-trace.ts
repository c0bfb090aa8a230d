/**
 * No trace is thought to last longer, which keeps searches within few partitions. Of one that does, an older copy stays
 * beside the newer one, until a comparison with the source finds it. And what is wrong with a transaction that lies
 * longer before the end of its trace does not take the certificate from that end.
 */
export const LONGEST_TRACE = '30 days';
