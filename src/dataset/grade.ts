/** The grades of a verified range, lowest first. A grade implies the lower ones. */
export const GRADES = ['covered', 'cross-checked', 'proved'] as const;

export type Grade = (typeof GRADES)[number];

export interface GradeFacts {
  readonly grade: Grade;
  readonly proves: string;
  /** What only reading again (`verify --deep`) can show. */
  readonly limitations: string;
}

/** The grade of a dataset that declares no check. */
export const UNCHECKED: GradeFacts = {
  grade: 'covered',
  proves: 'nothing: the dataset declares no check',
  limitations: 'rows and values that the source left out or changed',
};

/** The grade of datasets for which the chain has no checksum. */
export const CROSS_CHECKED: GradeFacts = {
  grade: 'cross-checked',
  proves:
    'two readings apart in time agree in every value, and rows belong to stored transactions, if those are proved',
  limitations: 'rows that the source left out both times, and values that it changed both times',
};
