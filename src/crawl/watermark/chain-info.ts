import * as z from 'zod';
import type { ApiClient } from '../../api/client.ts';
import type { Priority } from '../../budget/priority.ts';

const End = z.object({ seqno: z.number(), gen_utime: z.coerce.number(), global_id: z.number() });
const MasterchainInfo = z.object({ last: End, first: End });

/** What the API's index holds. */
export interface ChainInfo {
  readonly globalId: number;
  /** The first masterchain block that the index knows; nothing before it can be had. */
  readonly first: { readonly seqno: number; readonly utime: number };
  /** The newest one that is visible: blocks before it may still be missing. */
  readonly last: { readonly seqno: number; readonly utime: number };
}

export async function readChainInfo(
  api: ApiClient,
  signal: AbortSignal,
  priority: Priority = 'tail',
): Promise<ChainInfo> {
  const { value } = await api.get({
    path: '/api/v3/masterchainInfo',
    params: {},
    priority,
    signal,
    parse: (body) => MasterchainInfo.parse(body),
  });
  return {
    globalId: value.last.global_id,
    first: { seqno: value.first.seqno, utime: value.first.gen_utime },
    last: { seqno: value.last.seqno, utime: value.last.gen_utime },
  };
}
