import { startSimulator, type SimulatorOptions } from '../../test/support/simulator/simulator.ts';

/** Serves the network of its first argument until the parent disconnects; tells the parent its address. */
const simulator = await startSimulator(JSON.parse(process.argv[2] ?? '') as SimulatorOptions);
process.once('disconnect', () => void simulator.close());
process.send?.(simulator.url);
