/** What goes back over the wire. */
export interface HttpResponse {
  readonly status: number;
  readonly body: string | Buffer;
  readonly headers: Readonly<Record<string, string>>;
  /** How long the server's query takes; default 0. */
  readonly queryMs?: number;
}

const JSON_TYPE = { 'content-type': 'application/json' } as const;

export function jsonResponse(
  status: number,
  body: string | Buffer,
  headers: Readonly<Record<string, string>> = {},
): HttpResponse {
  return { status, body, headers: { ...JSON_TYPE, ...headers } };
}

/** The indexer's own error: one member, whatever its documentation says, printed as Go prints it. */
export function errorResponse(status: number, text: string): HttpResponse {
  const body = JSON.stringify({ error: text }).replaceAll(
    /[<>&]/g,
    (sign) => `\\u${sign.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
  return jsonResponse(status, body);
}

/** The gateway's error, which has another shape than the indexer's. */
export function gatewayError(status: number, text: string): HttpResponse {
  return jsonResponse(status, JSON.stringify({ ok: false, code: status, error: text }));
}

export function htmlResponse(status: number, title: string): HttpResponse {
  const body = `<html>\r\n<head><title>${status} ${title}</title></head>\r\n<body>\r\n<center><h1>${status} ${title}</h1></center>\r\n</body>\r\n</html>\r\n`;
  return { status, body, headers: { 'content-type': 'text/html' } };
}

export function textResponse(status: number, body: string): HttpResponse {
  return { status, body, headers: { 'content-type': 'text/plain; charset=utf-8' } };
}
