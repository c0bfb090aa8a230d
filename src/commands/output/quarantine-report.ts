import type { QuarantineKind, Quarantined } from '../../db/read/quarantined.ts';
import { formatRange, formatTime } from '../../range.ts';
import { formatTable } from './table.ts';
import { programName } from '../../terminal/program-name.ts';

/** Unfit records that are named after a retry. */
const SHOWN = 50;

/** Prints why records did not fit, by kind, and the first of them. */
export function printQuarantine(kinds: readonly QuarantineKind[], first: readonly Quarantined[]): void {
  if (kinds.length === 0) {
    console.log('nothing is in quarantine');
    return;
  }
  const counted = kinds.map((kind) => [
    String(kind.records),
    kind.dataset,
    pathOf(kind),
    kind.reason,
    formatRange(kind),
  ]);
  console.log(formatTable(['records', 'dataset', 'member', 'reason', 'between (UTC)'], counted));
  console.log();
  const header = ['id', 'dataset', 'block time (UTC)', 'received', 'member', 'record'];
  console.log(formatTable(header, first.map(listRow)));
  const total = kinds.reduce((sum, { records }) => sum + records, 0);
  if (total > first.length)
    console.log(`and ${total - first.length} more: ${programName} quarantine list --json`);
}

function listRow(record: Quarantined): string[] {
  const { id, dataset, utime, attempts, recordId } = record;
  const times = `${attempts} ${attempts === 1 ? 'time' : 'times'}`;
  return [String(id), dataset, formatTime(utime), times, pathOf(record), recordId];
}

/** Prints one record, whole. */
export function printRecord(record: Quarantined): void {
  const facts: readonly (readonly [string, string])[] = [
    ['record', `${record.id}: ${record.recordId}`],
    ['dataset', record.scope === '' ? record.dataset : `${record.dataset} of ${record.scope}`],
    ['block time', formatTime(record.utime)],
    ['member', pathOf(record)],
    ['reason', record.reason],
    ['request', `GET ${record.request}`],
    ['received', `${record.attempts} times, ${formatTime(record.firstAt)} to ${formatTime(record.lastAt)}`],
  ];
  for (const [title, text] of facts) console.log(`${title.padEnd(12)}${text}`);
  console.log(`\n${record.raw}`);
}

/** A line of JSON: the record is JSON text already; parsed and printed anew it would lose digits. */
export function recordLine(record: Quarantined): string {
  return `${JSON.stringify(factsOf(record)).slice(0, -1)},"record":${record.raw}}`;
}

/** Everything about a record but itself. */
export function factsOf({ raw, ...facts }: Quarantined): object {
  return { ...facts, characters: raw.length };
}

/** Prints what reading the stored records anew has brought. */
export function printRetried(released: number, unfit: readonly Quarantined[]): void {
  console.log(`released  ${released} ${released === 1 ? 'record' : 'records'}: written from what was kept`);
  for (const record of unfit.slice(0, SHOWN))
    console.log(`unfit     ${record.id} of ${record.dataset}: ${pathOf(record)}: ${record.reason}`);
}

/** Prints how many of the unfit records are left, and what to do next; `again` where the API was asked for them anew. */
export function printLeft(left: number, unfit: number, again: boolean): void {
  if (again) console.log(`read anew ${unfit - left} of ${unfit} are out of quarantine`);
  if (left === 0) return;
  console.error(
    again
      ? `hint: The API still sends them in this form: \`${programName} quarantine export\` writes them out for a bug report.`
      : `hint: \`${programName} quarantine retry --again\` asks the API for those seconds anew.`,
  );
}

function pathOf({ path }: { readonly path: string }): string {
  return path === '' ? '(whole record)' : path;
}
