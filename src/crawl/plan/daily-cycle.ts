import { DAY } from '../../range.ts';
/** A look into a chain: from when, for how many seconds, and how many rows it showed. */
interface ChainLook {
  readonly from: number;
  readonly seconds: number;
  readonly rows: number;
}

type Vector = readonly [number, number, number];

const OMEGA = (2 * Math.PI) / DAY;
/** Three numbers are fitted: from fewer looks they would follow its noise. */
const LEAST_LOOKS = 8;
/** No hour is taken for quieter than this part of the mean. */
const LEAST_FACTOR = 0.1;

/**
 * How busy the hours of a look are, as a factor of a whole day's mean, by the looks of all hours together: a cosine of
 * 24 hours, fitted by least squares (single-component cosinor, Nelson et al., Chronobiologia 1979) to the means over
 * each look. Looks into dead times say nothing of it. Always 1 where there are too few.
 *
 * The rows of a whole range hardly need it (both ways within a factor 1.2), the time left on the way through it does: on
 * a network whose noon is ten times as busy as its midnight, half of it is 1 % off with it and 32 % without.
 */
export function dailyCycle(looks: readonly ChainLook[]): (look: ChainLook) => number {
  const alive = looks.filter(({ rows, seconds }) => rows > 0 && seconds > 0);
  if (alive.length < LEAST_LOOKS) return () => 1;
  const points = alive.map((look) => ({ at: basis(look), value: look.rows / look.seconds }));
  const { mean, cosine, sine } = fit(points);
  if (!(mean > 0)) return () => 1;
  return (look) => {
    const [, cos, sin] = basis(look);
    return Math.max(LEAST_FACTOR, 1 + (cosine * cos + sine * sin) / mean);
  };
}

/** The means of 1, cosine and sine of the time of day over a look. */
function basis({ from, seconds }: ChainLook): Vector {
  const [a, b] = [OMEGA * from, OMEGA * (from + seconds)];
  if (seconds === 0) return [1, Math.cos(a), Math.sin(a)];
  return [1, (Math.sin(b) - Math.sin(a)) / (b - a), (Math.cos(a) - Math.cos(b)) / (b - a)];
}

interface Point {
  readonly at: Vector;
  readonly value: number;
}

/** The normal equations, solved by Cramer's rule; NaN where the points do not tell the three apart. */
function fit(points: readonly Point[]): {
  readonly mean: number;
  readonly cosine: number;
  readonly sine: number;
} {
  const sum = (of: (point: Point) => number) => points.reduce((total, point) => total + of(point), 0);
  const row = (weight: (at: Vector) => number): Vector => [
    sum(({ at }) => weight(at) * at[0]),
    sum(({ at }) => weight(at) * at[1]),
    sum(({ at }) => weight(at) * at[2]),
  ];
  // Symmetric: its rows are its columns.
  const [a, b, c] = [row((at) => at[0]), row((at) => at[1]), row((at) => at[2])];
  const target: Vector = [
    sum(({ at, value }) => at[0] * value),
    sum(({ at, value }) => at[1] * value),
    sum(({ at, value }) => at[2] * value),
  ];
  const whole = determinant(a, b, c);
  return {
    mean: determinant(target, b, c) / whole,
    cosine: determinant(a, target, c) / whole,
    sine: determinant(a, b, target) / whole,
  };
}

function determinant(a: Vector, b: Vector, c: Vector): number {
  return (
    a[0] * (b[1] * c[2] - b[2] * c[1]) -
    a[1] * (b[0] * c[2] - b[2] * c[0]) +
    a[2] * (b[0] * c[1] - b[1] * c[0])
  );
}
