/** A problem, and what to do about it. */
export interface DoctorFinding {
  /** The part that was checked: schema, clock, disk, … */
  readonly check: string;
  readonly what: string;
  readonly remedy: string;
}
