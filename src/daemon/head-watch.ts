import { pollSeconds, type HeadSeen } from '../dataset/head-pace.ts';
import type { TailPlan } from '../dataset/tail-plan.ts';
import type { Watermark } from '../crawl/watermark/watermark.ts';

/** Heads over which the time between two blocks is averaged. */
const REMEMBERED = 30;

/** Learns from polls how often blocks come, and says when the next poll is due. */
export interface HeadWatch {
  /** Seconds between two blocks; undefined before two were seen. */
  readonly interval: () => number | undefined;
  /** Seconds from this poll, at `now`, to the next one. */
  pauseAfter(head: Watermark['head'], now: number): number;
}

export function createHeadWatch(plan: TailPlan): HeadWatch {
  const heads: Watermark['head'][] = [];
  let movedAt = 0;
  return {
    interval: () => intervalOf(heads),
    pauseAfter: (head, now) => {
      const isNew = head.seqno > (heads.at(-1)?.seqno ?? -1);
      if (isNew) {
        heads.push(head);
        movedAt = now;
        if (heads.length > REMEMBERED) heads.shift();
      }
      return pollSeconds({ interval: intervalOf(heads), stillFor: now - movedAt }, plan);
    },
  };
}

function intervalOf(heads: readonly Watermark['head'][]): HeadSeen['interval'] {
  const [first, last] = [heads[0], heads.at(-1)];
  if (first === undefined || last === undefined || first.seqno === last.seqno) return undefined;
  return (last.utime - first.utime) / (last.seqno - first.seqno);
}
