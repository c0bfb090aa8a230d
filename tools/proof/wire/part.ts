import { bePart } from '../in-parts.ts';
import { runWires, type SeedOutcome, type WireOptions } from './run-wires.ts';

/* A process that runs its share of the seeds. */
bePart<Omit<WireOptions, 'onOutcome'>, SeedOutcome>((stores, order, send) =>
  runWires(stores, { ...order, onOutcome: send }),
);
