/** Something that is not as it should be, and what to do about it. */
export interface DoctorFinding {
  /** The part that was looked at: schema, clock, disk, … */
  readonly check: string;
  readonly what: string;
  readonly remedy: string;
}
