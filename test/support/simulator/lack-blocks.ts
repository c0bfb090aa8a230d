import * as z from 'zod';
import { isInside, type Range } from '../../../src/range.ts';
import type { ApiRequest } from '../../../src/simulator/http/api.ts';
import type { HttpResponse } from '../../../src/simulator/http/response.ts';

const Body = z.looseObject({
  blocks: z.array(z.looseObject({ workchain: z.number(), gen_utime: z.string() })),
});

/**
 * A server whose index of blocks lacks those of the masterchain in some seconds; other responses are the same
 * objects.
 */
export function lackMasterchain(gap: Range) {
  return ({ path }: ApiRequest, response: HttpResponse): HttpResponse => {
    if (path !== '/api/v3/blocks' || response.status !== 200) return response;
    const body = Body.parse(JSON.parse(response.body.toString()));
    const blocks = body.blocks.filter(
      ({ workchain, gen_utime }) => workchain !== -1 || !isInside(Number(gen_utime), gap),
    );
    return blocks.length === body.blocks.length
      ? response
      : { ...response, body: JSON.stringify({ ...body, blocks }) };
  };
}
