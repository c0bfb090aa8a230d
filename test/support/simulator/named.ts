import type { Truth } from './truth.ts';

/** The time from which no row of a second can still appear, because all tops of the shards are behind it. */
export function createNamed({ world: { ticks, blocks } }: Truth): (second: number) => number {
  const watermarkOf = (tick: number) => {
    const end = tick + 1 < ticks.utime.length ? ticks.firstTop.get(tick + 1) : ticks.tops.length;
    let least = Infinity;
    for (let top = ticks.firstTop.get(tick); top < end; top += 1)
      least = Math.min(least, blocks.utime.get(ticks.tops.get(top)));
    return least;
  };
  return (second) => {
    for (let tick = ticks.utime.lowerBound(second); tick < ticks.utime.length; tick += 1)
      if (watermarkOf(tick) > second) return ticks.utime.get(tick);
    return Infinity;
  };
}
