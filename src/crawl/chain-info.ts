import * as z from 'zod';
import type { ApiClient } from '../api/client.ts';
import type { Priority } from '../budget/priority.ts';
import { parseCanonical } from '../dataset/declaration/canonical.ts';
import { hash, seqno } from '../records/members/form.ts';
import { requiredInt } from '../records/members/scalar.ts';
import { NoEndpointError, NoIndexError, NotFoundError } from '../errors.ts';

const End = z.object({
  seqno,
  gen_utime: z.coerce.number(),
  global_id: requiredInt,
  root_hash: hash.nullish().catch(undefined),
});
const MasterchainInfo = z.object({ last: End, first: End });

/** What the API's index holds. */
export interface ChainInfo {
  readonly globalId: number;
  /** The first masterchain block that the index knows. Nothing before it can be read. */
  readonly first: { readonly seqno: number; readonly utime: number; readonly rootHash?: string | undefined };
  /** The newest visible masterchain block. Blocks before it may still be missing. */
  readonly last: { readonly seqno: number; readonly utime: number };
}

/** @throws NoIndexError if the server has no such endpoint */
export async function readChainInfo(
  api: ApiClient,
  signal: AbortSignal,
  priority: Priority = 'tail',
): Promise<ChainInfo> {
  const parse = (body: unknown) => parseCanonical(MasterchainInfo, body);
  const path = '/api/v3/masterchainInfo';
  const { value } = await api.get({ path, params: {}, priority, signal, parse }).catch(refuseOther);
  return {
    globalId: value.last.global_id,
    first: {
      seqno: value.first.seqno,
      utime: value.first.gen_utime,
      rootHash: value.first.root_hash ?? undefined,
    },
    last: { seqno: value.last.seqno, utime: value.last.gen_utime },
  };
}

function refuseOther(error: unknown): never {
  if (!(error instanceof NotFoundError || error instanceof NoEndpointError)) throw error;
  throw new NoIndexError(error.message, {
    cause: error,
    hint: 'Check TONCENTER_NETWORK: the server there is no TON Center API. A base URL ends before /api/v3.',
  });
}

/** True if the server still answers that it has no such endpoint. Sends one request, whatever was known before. */
export async function lacksEndpoint(api: ApiClient, path: string, signal: AbortSignal): Promise<boolean> {
  api.recheck(path);
  try {
    await api.get({
      path,
      params: { limit: 1 },
      priority: 'backfill',
      attemptsInDoubt: 1,
      signal,
      parse: () => true,
    });
    return false;
  } catch (error) {
    return error instanceof NoEndpointError;
  }
}
