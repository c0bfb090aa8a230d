import type { HttpResponse } from '../../../src/simulator/http/response.ts';
import type { ApiRequest } from '../../../src/simulator/http/api.ts';
import { Random, salt } from '../../../src/simulator/random.ts';
import type { Form } from './forms.ts';
import type { Kind } from './kinds.ts';
import { leavesOf, replaceAt, withOthers } from './leaves.ts';
import { listOf } from './list-of.ts';

/** The wire between a network and its reader, on which some responses are altered. */
export interface Wire {
  /** Names of the kinds that were applied, and the changed values. */
  readonly done: Map<string, string>;
  readonly pass: (request: ApiRequest, response: HttpResponse) => HttpResponse;
}

/** A placeholder for a value whose text JSON cannot hold. */
const PLACE = 'wire-place-of-a-value';
const TRIES = 30;

/**
 * Alters one response a kind, another response each; the seed decides which value. With an odd seed it is the
 * first response, which may only tell how far the chain is; with an even one the first page of a range.
 */
export function createWire(kinds: readonly Kind[], seed: number): Wire {
  const done = new Map<string, string>();
  const randoms = new Map(kinds.map((kind) => [kind, new Random(seed, salt(kind.name))]));
  return {
    done,
    pass(request, response) {
      if (response.status !== 200) return response;
      for (const kind of kinds.filter(({ path }) => path === request.path)) {
        const always = 'listing' in kind.way && kind.way.listing.always === true;
        if (done.has(kind.name) && !always) continue;
        if (seed % 2 === 0 && !request.search.has('end_utime')) continue;
        const random = randoms.get(kind) ?? new Random(seed);
        const altered = alter(kind, response, random);
        if (altered === undefined) continue;
        done.set(kind.name, altered.where);
        return altered.response;
      }
      return response;
    },
  };
}

interface Altered {
  readonly response: HttpResponse;
  readonly where: string;
}

function alter({ way, list }: Kind, response: HttpResponse, random: Random): Altered | undefined {
  const body = Buffer.from(response.body);
  const records = listOf(body.toString(), list);
  if (records.length === 0) return undefined;
  if ('breakage' in way)
    return { response: way.breakage.alter(response, body), where: `${body.length} bytes` };
  if ('form' in way) return alterValue(response, { list, records }, way.form, random);
  const instead = way.listing.alter(records, random);
  return {
    response: withList(response, list, instead),
    where: `${records.length} records`,
  };
}

function alterValue(
  response: HttpResponse,
  { list, records }: { readonly list: string; readonly records: readonly Record<string, unknown>[] },
  form: Form,
  random: Random,
): Altered | undefined {
  for (let attempt = 0; attempt < TRIES; attempt += 1) {
    const at = random.below(records.length);
    const record = records[at];
    const candidates = leavesOf(record).filter((leaf) => form.fits({ ...leaf, others: [0, 1] }));
    const leaf = candidates[random.below(Math.max(1, candidates.length))];
    if (leaf === undefined) continue;
    const found = withOthers(record, leaf.path, leaf.value, records);
    if (!form.fits(found)) continue;
    const instead = form.alter(found, random);
    const changed = records.map((one, index) =>
      index === at ? replaceAt(one, leaf.path, instead === undefined ? undefined : PLACE) : one,
    );
    const { body } = withList(response, list, changed);
    const where = `${leaf.path.join('.')} of record ${at}: ${JSON.stringify(leaf.value).slice(0, 60)} -> ${instead?.slice(0, 60) ?? 'nothing'}`;
    return {
      response: {
        ...response,
        body: instead === undefined ? body : body.toString().replace(`"${PLACE}"`, () => instead),
      },
      where,
    };
  }
  return undefined;
}

function withList(
  response: HttpResponse,
  list: string,
  instead: readonly unknown[] | string | undefined,
): HttpResponse {
  const parsed = JSON.parse(response.body.toString()) as Record<string, unknown>;
  if (typeof instead !== 'string')
    return { ...response, body: JSON.stringify({ ...parsed, [list]: instead }) };
  const body = JSON.stringify({ ...parsed, [list]: PLACE });
  return { ...response, body: body.replace(`"${PLACE}"`, () => instead) };
}
