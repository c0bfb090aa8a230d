import type { Bounds } from '../../bounds.ts';
import type { ListFacts } from './lists.ts';

/** A record as text, and what windows ask of it. */
interface RecordedEntry {
  readonly text: string;
  readonly time: number;
  readonly lt: bigint;
  readonly key: string;
}

/** What is asked of a list; bounds are inclusive. */
export interface RecordedWindow {
  readonly time: Bounds;
  readonly lt: { readonly first: bigint; readonly last: bigint };
  readonly limit: number;
  readonly offset: number;
  readonly descending: boolean;
}

/** The records of one list from all recorded responses, and the seconds for which they are complete. */
export class RecordedList {
  private readonly facts: ListFacts;
  private readonly entries = new Map<string, RecordedEntry>();
  private readonly answered: Bounds[] = [];
  private sorted: RecordedEntry[] | undefined;

  constructor(facts: ListFacts) {
    this.facts = facts;
  }

  get size(): number {
    return this.entries.size;
  }

  /** The newest second of any record. */
  get latest(): number {
    return Math.max(0, ...[...this.entries.values()].map(({ time }) => time));
  }

  /** Adds a response. If a record came twice, the later copy counts. */
  add(asked: RecordedWindow, records: readonly { readonly value: unknown; readonly text: string }[]): void {
    const times: number[] = [];
    for (const { value, text } of records) {
      const entry = this.entryOf(value, text);
      if (entry === undefined) continue;
      this.entries.set(entry.key, entry);
      times.push(entry.time);
    }
    this.sorted = undefined;
    const full = records.length >= asked.limit;
    // The last second of a full page may be incomplete; in an open window, more may have become visible later.
    const last = full || !Number.isFinite(asked.time.last) ? Math.max(...times, -1) - 1 : asked.time.last;
    if (!asked.descending && last >= asked.time.first) this.answered.push({ first: asked.time.first, last });
    if (asked.descending && !full) this.answered.push(asked.time);
  }

  /** The part of a window that was not recorded begins here; undefined if all of it was. */
  missing({ time, lt }: RecordedWindow): number | undefined {
    // A part of a second that filled a page is asked for by logical time; other logical times are those of the seconds.
    const isOneSecond = lt.first > 0n && time.first === time.last;
    if (isOneSecond && [...this.entries.values()].some((entry) => entry.time === time.first))
      return undefined;
    let at = time.first;
    for (const { first, last } of this.answered.toSorted((a, b) => a.first - b.first))
      if (first <= at && last >= at) at = last + 1;
    if (this.facts.joined === true) return at === time.first ? at : undefined;
    return at > time.last ? undefined : at;
  }

  texts({ time, lt, limit, offset, descending }: RecordedWindow): string[] {
    this.sorted ??= [...this.entries.values()].sort(
      (a, b) => a.time - b.time || (a.lt < b.lt ? -1 : a.lt > b.lt ? 1 : a.key < b.key ? -1 : 1),
    );
    const found = this.sorted.filter((entry) => within(entry.time, time) && within(entry.lt, lt));
    return (descending ? found.reverse() : found).slice(offset, offset + limit).map(({ text }) => text);
  }

  private entryOf(value: unknown, text: string): RecordedEntry | undefined {
    if (typeof value !== 'object' || value === null) return undefined;
    const members = new Map(Object.entries(value));
    const time = Number(members.get(this.facts.time));
    if (!Number.isInteger(time)) return undefined;
    const lt = String(this.facts.lt === undefined ? 0 : members.get(this.facts.lt));
    return {
      text,
      time,
      lt: /^\d+$/.test(lt) ? BigInt(lt) : 0n,
      key: this.facts.key.map((name) => String(members.get(name))).join('/'),
    };
  }
}

function within<T extends number | bigint>(
  value: T,
  { first, last }: { readonly first: T; readonly last: T },
): boolean {
  return value >= first && value <= last;
}
