/** What goes back over the wire. */
export interface Answer {
  readonly status: number;
  readonly body: string | Buffer;
  readonly headers: Readonly<Record<string, string>>;
}

const JSON_TYPE = { 'content-type': 'application/json' } as const;

export function jsonAnswer(
  status: number,
  body: string | Buffer,
  headers: Readonly<Record<string, string>> = {},
): Answer {
  return { status, body, headers: { ...JSON_TYPE, ...headers } };
}

/** The indexer's own error: one member, whatever its documentation says. */
export function errorAnswer(status: number, text: string): Answer {
  return jsonAnswer(status, JSON.stringify({ error: text }));
}

/** The gateway's error, which has another shape than the indexer's. */
export function gatewayError(status: number, text: string): Answer {
  return jsonAnswer(status, JSON.stringify({ ok: false, code: status, error: text }));
}

export function htmlAnswer(status: number, title: string): Answer {
  const body = `<html>\r\n<head><title>${status} ${title}</title></head>\r\n<body>\r\n<center><h1>${status} ${title}</h1></center>\r\n</body>\r\n</html>\r\n`;
  return { status, body, headers: { 'content-type': 'text/html' } };
}

export function textAnswer(status: number, body: string): Answer {
  return { status, body, headers: { 'content-type': 'text/plain; charset=utf-8' } };
}
