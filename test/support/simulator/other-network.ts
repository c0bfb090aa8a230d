import type { SimulatorOptions } from './simulator.ts';

/** Makes a simulated network name itself testnet while `isOther` is true. */
export function otherNetwork(isOther: () => boolean): NonNullable<SimulatorOptions['after']> {
  return (_, response) => {
    if (!isOther()) return response;
    return { ...response, body: String(response.body).replaceAll('"global_id":-777', '"global_id":-3') };
  };
}
