import { mix32 } from '../../random.ts';
import { succeeded, type NetworkAction, type Leg } from './made-action.ts';
import { call } from './call-details.ts';
import { fill, type MembersShape } from './members.ts';
import { BASIC_SHAPES, DEPOSIT, WITHDRAWAL } from './basic-shapes.ts';
import { COMPOSITE_SHAPES } from './composite-shapes.ts';

/** What the call of a contract was for: which one is decided by the message alone. */
export function contractActions(leg: Leg): NetworkAction[] {
  const dice = mix32(leg.message + 21) % 100;
  const called = action(leg, 'call_contract', () => call(leg.world, leg.message));
  if (leg.world.isPool(leg.world.messages.destination.get(leg.message)))
    return [dice < 60 ? shaped(leg, 'stake_deposit', DEPOSIT) : shaped(leg, 'stake_withdrawal', WITHDRAWAL)];
  if (dice < 35) return [called];
  if (dice < 38) return [{ ...action(leg, 'unknown', unknownDetails), success: null }];
  const shapes = dice < 68 ? BASIC_SHAPES : COMPOSITE_SHAPES;
  const [type, shape] = shapes[mix32(leg.message + 22) % shapes.length] ?? ['call_contract', {}];
  const typed = shaped(leg, type, shape);
  return shapes === BASIC_SHAPES ? [typed] : [typed, { ...called, ancestors: [type] }];
}

function action(leg: Leg, type: string, details: () => object): NetworkAction {
  return { type, ancestors: [], transactions: leg.transactions, success: succeeded(leg), details };
}

function shaped(leg: Leg, type: string, shape: MembersShape): NetworkAction {
  return action(leg, type, () => fill(shape, leg));
}

/** What the server prints for a type that it has no shape for. */
function unknownDetails(): object {
  return { error: "unsupported action type: 'unknown'" };
}
