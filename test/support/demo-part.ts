import { demoNetwork } from '../../src/simulator/network/demo-network.ts';

/** So much of the demo network, with shorter elections, that every question has an answer. */
export const demoPart = {
  name: 'demo_part',
  options: { ...demoNetwork, duration: 75 * 60, electionSeconds: 600 },
} as const;
