import { bePart } from '../in-parts.ts';
import { runMatrix, type MatrixOptions } from './run-matrix.ts';

/* A process that runs its share of the matrix. */
bePart((stores, order, send) => runMatrix(stores, { ...(order as MatrixOptions), onVerdict: send }));
