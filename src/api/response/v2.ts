import * as z from 'zod';

/**
 * The envelope of both v2 servers. One of them answers JSON-RPC with the plain envelope and no `id`, the other adds
 * `jsonrpc` and `id`: a response is known by its request, never by its id, so neither is looked at.
 */
const success = z
  .looseObject({ ok: z.literal(true).optional(), result: z.unknown() })
  .refine((body) => body.result !== undefined, 'no result in the envelope');
const failure = z.looseObject({
  ok: z.literal(false).optional(),
  code: z.number().optional(),
  error: z.union([z.string(), z.looseObject({ code: z.number().optional() })]).nullish(),
});

/** What an envelope holds: the result, or the HTTP status that its error stands for. */
export type OpenedEnvelope =
  { readonly ok: true; readonly result: unknown } | { readonly ok: false; readonly status: number };

/** Opens the body of a v2 response that came with status 200. Throws a ZodError for what is no envelope. */
export function openEnvelope(body: unknown): OpenedEnvelope {
  const refusal = failure.safeParse(body);
  if (refusal.success) {
    const { ok, code, error } = refusal.data;
    const reported = error ?? undefined;
    const own = typeof reported === 'object' ? reported.code : undefined;
    if (ok === false || reported !== undefined) return { ok: false, status: statusOf(code ?? own) };
  }
  return { ok: true, result: success.parse(body).result };
}

/** The server's own mapping of an envelope's code to a status: -3 is the liteserver's 542, what is no status is 500. */
function statusOf(code: number | undefined): number {
  if (code === -3) return 542;
  return code !== undefined && code >= 400 && code < 600 ? code : 500;
}
