import type { DoctorFinding } from '../../doctor/finding.ts';

/** Prints what is wrong, and what to do about it. */
export function printFindings(findings: readonly DoctorFinding[]): void {
  for (const { check, what, remedy } of findings) {
    console.log(`${check.padEnd(10)}${what}`);
    console.log(`${'remedy'.padStart(12)}  ${remedy}`);
  }
  const count = findings.length;
  console.log(count === 0 ? 'nothing is wrong' : `${count} finding${count === 1 ? '' : 's'}`);
}
