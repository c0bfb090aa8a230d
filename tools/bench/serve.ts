import { startSimulator, type SimulatorOptions } from '../../test/support/simulator/simulator.ts';

/**
 * Serves the network of its first argument until the parent disconnects, and tells the parent its address. A number from
 * the parent is how many milliseconds an answer takes from then on.
 */
const given = JSON.parse(process.argv[2] ?? '') as SimulatorOptions;
const options = { ...given, latencyMs: given.latencyMs ?? ([0, 0] as const) };
const simulator = await startSimulator(options);
process.on('message', (ms) => {
  options.latencyMs = [Number(ms), Number(ms)];
});
process.once('disconnect', () => void simulator.close());
process.send?.(simulator.url);
