import { bePart } from '../in-parts.ts';
import type { Verdict } from './check-batch.ts';
import { runMatrix, type MatrixOptions } from './run-matrix.ts';

/* A process that runs its share of the matrix. */
bePart<Omit<MatrixOptions, 'onVerdict'>, Verdict>((stores, order, send) =>
  runMatrix(stores, { ...order, onVerdict: send }),
);
