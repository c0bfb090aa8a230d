import type { ValueCheck } from '../declaration/check.ts';
import type { Run } from './runs.ts';
import type { Page, ViewClass, ViewedMember } from './view.ts';

/** A member of a record, as it stands in a body. */
export interface Member extends ViewedMember {
  readonly takesNull: boolean;
  /** What a text may be made of: one of these rows. */
  readonly runs: readonly (readonly Run[])[];
  /** What else a text has to pass; what a scalar or a value of JSON has to: none where it may be any. */
  readonly checks: readonly ValueCheck[];
  readonly layout: Layout | undefined;
}

/** Where the values of an object are noted: its own place first, and then those of its members, one behind the other. */
export interface Layout {
  readonly View: ViewClass;
  readonly members: readonly Member[];
  readonly byName: ReadonlyMap<string, Member>;
  /** Members that have to be there. */
  readonly required: readonly Member[];
  /** How many slots it takes. */
  readonly size: number;
  /** What the whole has to pass. */
  readonly checks: readonly ValueCheck[];
  readonly read: ReadObject;
}

/**
 * Notes where the values of an object stand, and says where it ends; NOWHERE where it has to be read otherwise. The reader is
 * a `RecordReader`.
 */
export type ReadObject = (reader: { readonly page: Page }, start: number, slot: number) => number;
