import { ApiUnavailableError } from '../../errors.ts';

/**
 * The API itself answered that it failed (500 or 542 with its own error text), or a gateway answered a 4xx in its place.
 * It may pass, but unlike an API that is away it may also be meant: a request is not repeated for ever on it.
 */
export class ApiFailedError extends ApiUnavailableError {
  override readonly code = 'api_failed';
}
