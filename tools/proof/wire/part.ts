import { bePart } from '../in-parts.ts';
import { runWires, type WireOptions } from './run-wires.ts';

/* A process that runs its share of the seeds. */
bePart((stores, order, send) => runWires(stores, { ...(order as WireOptions), onOutcome: send }));
