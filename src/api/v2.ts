import { z } from 'zod';

/**
 * The envelope of both v2 servers. One of them answers JSON-RPC with the plain envelope and no `id`, the other adds
 * `jsonrpc` and `id`: an answer is known by its request, never by its id, so neither is looked at.
 */
const success = z
  .looseObject({ ok: z.literal(true).optional(), result: z.unknown() })
  .refine((body) => body.result !== undefined && !('error' in body), 'no result in the envelope');
const failure = z.looseObject({
  ok: z.literal(false).optional(),
  code: z.number().optional(),
  error: z.union([z.string(), z.looseObject({ code: z.number().optional() })]).optional(),
});

/** What an envelope holds: the result, or the HTTP status that its error stands for. */
export type Opened =
  { readonly ok: true; readonly result: unknown } | { readonly ok: false; readonly status: number };

/** Opens the body of a v2 answer that came with status 200. Throws a ZodError for what is no envelope. */
export function openEnvelope(body: unknown): Opened {
  const refusal = failure.safeParse(body);
  if (refusal.success && (refusal.data.ok === false || refusal.data.error !== undefined)) {
    const { code, error } = refusal.data;
    return { ok: false, status: statusOf(code ?? (typeof error === 'object' ? error.code : undefined)) };
  }
  return { ok: true, result: success.parse(body).result };
}

/** The server's own mapping of an envelope's code to a status: -3 is the liteserver's 542, what is no status is 500. */
function statusOf(code: number | undefined): number {
  if (code === -3) return 542;
  return code !== undefined && code >= 400 && code < 600 ? code : 500;
}
