/**
 * The assumed maximum duration of a trace, which keeps searches within few partitions. If a trace lasts longer, an
 * older copy stays next to the newer one until a comparison with the source finds it. And if a wrong transaction lies
 * longer before the end of its trace, that end keeps its certificate.
 */
export const LONGEST_TRACE = '30 days';
