import { UsageError } from '../errors.ts';
import type { Params } from '../dataset/paginator.ts';

/**
 * The query string of a request, without `?`. Arrays become repeated keys, the one form that the API reads for every
 * parameter; undefined is left out.
 *
 * The API ignores what it does not understand and then answers for everything, so what would silently drop a filter
 * (an empty list, an empty text, a number that is none) is a UsageError, and so is a key in the URL.
 */
export function toQuery(params: Params): string {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(params)) {
    if (value === undefined) continue;
    if (/^(api_key|x-api-key)$/i.test(name)) {
      throw new UsageError('An API key may not travel in a URL', { hint: 'Set TONCENTER_API_KEY instead.' });
    }
    const values = typeof value === 'object' ? value : [value];
    if (values.length === 0) throw new UsageError(`The parameter ${name} is an empty list`);
    for (const one of values) query.append(name, printed(name, one));
  }
  return query.toString();
}

function printed(name: string, value: string | number | boolean): string {
  if (value === '' || (typeof value === 'number' && !Number.isFinite(value))) {
    throw new UsageError(`The parameter ${name} has no value`);
  }
  return String(value);
}
