import type { ActionJson } from '../../src/simulator/json/action-json.ts';
import type { BlockJson } from '../../src/simulator/json/block-json.ts';
import type { MessageJson } from '../../src/simulator/json/message-json.ts';
import type {
  JettonBurnJson,
  JettonTransferJson,
  NftTransferJson,
} from '../../src/simulator/json/token-json.ts';
import type { TraceJson } from '../../src/simulator/json/trace-json.ts';
import type { TransactionJson } from '../../src/simulator/json/transaction-json.ts';
import type { Simulator } from '../support/simulator/simulator.ts';

/** A response with any members. */
export interface Reply {
  readonly status: number;
  readonly version: string | null;
  readonly body: {
    readonly error?: string;
    readonly blocks?: BlockJson[];
    readonly transactions?: TransactionJson[];
    readonly messages?: MessageJson[];
    readonly traces?: TraceJson[];
    readonly actions?: ActionJson[];
    readonly jetton_transfers?: JettonTransferJson[];
    readonly jetton_burns?: JettonBurnJson[];
    readonly nft_transfers?: NftTransferJson[];
    readonly last?: BlockJson;
    readonly first?: BlockJson;
    readonly address_book?: Record<string, { user_friendly: string }>;
    readonly metadata?: Record<string, unknown>;
  };
}

/** Sends a request to a simulator and parses the response. */
export async function ask(simulator: Simulator, path: string): Promise<Reply> {
  const response = await fetch(simulator.url + path);
  const body = (await response.json()) as Reply['body'];
  return { status: response.status, version: response.headers.get('x-api-version'), body };
}

export const hashesOf = (reply: Reply): string[] =>
  (reply.body.transactions ?? []).map((transaction) => transaction.hash);
