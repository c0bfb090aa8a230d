import type { World } from './world.ts';

/** The wallet to which a `jetton_transfer` message sends jettons: the trace's party that does not own the sending jetton wallet. */
export function jettonDestination(world: World, message: number): number {
  const { messages, traces, accounts } = world;
  const trace = messages.trace.get(message);
  const owner = accounts.jettonWalletOwner(messages.destination.get(message));
  const actor = traces.actor.get(trace);
  return owner === actor ? traces.partner.get(trace) : actor;
}
