import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import ts from 'typescript';
import { describe, expect, test } from 'vitest';

const SRC = join(import.meta.dirname, '..', 'src');

/** The names that fields of log records have. One thing has one name: a new name is added here. */
const FIELDS = new Set([
  ...[
    'dataset',
    'datasets',
    'scope',
    'table',
    'check',
    'lake',
    'partition',
    'parts',
    'range',
    'since',
    'schedule',
    'priority',
  ],
  ...[
    'pages',
    'records',
    'rows',
    'seconds',
    'bytes',
    'lines',
    'ms',
    'pauseMs',
    'requests',
    'refused',
    'retries',
    'lag',
    'missing',
    'attempt',
    'holes',
    'found',
    'proved',
    'repairs',
  ],
  ...['code', 'reason', 'hint', 'what', 'status', 'path', 'request', 'size', 'smaller'],
  ...['walk', 'offset', 'limit', 'seqno'],
  ...['head', 'watermark', 'waitingFor', 'network', 'database', 'worker', 'rps', 'rate', 'signal'],
  ...['host', 'until', 'leases', 'copies', 'example'],
  ...['directory', 'intended', 'dataDir', 'free', 'minFree', 'port', 'pid', 'version', 'listen', 'url'],
]);

interface LogCall {
  readonly line: string;
  readonly level: string;
  readonly fields: readonly string[];
  readonly message: ts.Expression | undefined;
}

function callsIn(name: string): LogCall[] {
  const source = ts.createSourceFile(
    name,
    readFileSync(join(SRC, name), 'utf8'),
    ts.ScriptTarget.ES2023,
    true,
  );
  const calls: LogCall[] = [];
  const visit = (node: ts.Node): void => {
    if (ts.isCallExpression(node) && ts.isPropertyAccessExpression(node.expression)) {
      const { expression, name: method } = node.expression;
      const isLogger = /\blogger\??$/.test(expression.getText());
      if (isLogger && /^(trace|debug|info|warn|error|fatal)$/.test(method.text)) {
        const [first, second] = node.arguments;
        const object = first !== undefined && ts.isObjectLiteralExpression(first) ? first : undefined;
        const { line } = source.getLineAndCharacterOfPosition(node.getStart());
        calls.push({
          line: `${name}:${line + 1}`,
          level: method.text,
          fields: object?.properties.flatMap((property) => property.name?.getText() ?? []) ?? [],
          message: node.arguments.length > 1 ? second : first,
        });
      }
    }
    ts.forEachChild(node, visit);
  };
  visit(source);
  return calls;
}

const calls = readdirSync(SRC, { recursive: true })
  .map(String)
  .filter((name) => name.endsWith('.ts'))
  .flatMap(callsIn);

describe('log records', () => {
  test('are found at all', () => {
    expect(calls.length).toBeGreaterThan(25);
  });

  test('have the same field names everywhere', () => {
    const others = calls.flatMap(({ line: line, fields }) =>
      fields.filter((field) => !FIELDS.has(field)).map((field) => `${line} ${field}`),
    );
    expect(others).toEqual([]);
  });

  test('have constant messages', () => {
    const isConstant = (message: ts.Expression | undefined): boolean =>
      message !== undefined &&
      (ts.isStringLiteral(message) ||
        ts.isNoSubstitutionTemplateLiteral(message) ||
        (ts.isConditionalExpression(message) &&
          isConstant(message.whenTrue) &&
          isConstant(message.whenFalse)));
    expect(calls.filter(({ message }) => !isConstant(message)).map(({ line: line }) => line)).toEqual([]);
  });
});
