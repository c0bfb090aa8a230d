import { startSimulator, type SimulatorOptions } from '../../test/support/simulator/simulator.ts';

/**
 * Serves the network of its first argument until the parent disconnects, and sends the parent its address. A
 * number from the parent sets the milliseconds of each later response; `cpu` asks for the CPU seconds of this
 * process.
 */
const given = JSON.parse(process.argv[2] ?? '') as SimulatorOptions;
const options = { ...given, latencyMs: given.latencyMs ?? ([0, 0] as const) };
const simulator = await startSimulator(options);
process.on('message', (message) => {
  const { user, system } = process.cpuUsage();
  if (message === 'cpu') process.send?.((user + system) / 1e6);
  else options.latencyMs = [Number(message), Number(message)];
});
process.once('disconnect', () => void simulator.close());
process.send?.(simulator.url);
