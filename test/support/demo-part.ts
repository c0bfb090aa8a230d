import { demoNetwork } from '../../src/app/open-crawl.ts';

/** A part of the demo network, with shorter elections, that is large enough for every question to have an answer. */
export const demoPart = {
  name: 'demo_part',
  options: { ...demoNetwork, duration: 75 * 60, electionSeconds: 600 },
} as const;
