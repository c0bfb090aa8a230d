import { UsageError } from '../../errors.ts';
import { parseRange, type Range } from '../../range.ts';

/** `--from` and `--to` of a command that can do without them. */
interface Ends {
  readonly from?: string | undefined;
  readonly to?: string | undefined;
}

interface Needing {
  /** What needs a range, where not all that was asked for does. */
  readonly names?: string;
  /** A sentence that says what needs none. */
  readonly otherwise: string;
}

/** @throws UsageError where none, or half of a range, was given */
export function parseEnds({ from, to }: Ends, now: number, { names = '', otherwise }: Needing): Range {
  if (from !== undefined && to !== undefined) return parseRange(from, to, now);
  throw new UsageError(`--from and --to are needed together${names === '' ? '' : `: for ${names}`}`, {
    hint: `Write times like 2026-11-01, -6h or now. ${otherwise}`,
  });
}
