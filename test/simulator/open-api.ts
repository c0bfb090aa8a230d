import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Ajv } from 'ajv';
import addFormats from 'ajv-formats';

const FILE = join(import.meta.dirname, '../../../shared/openapi/v3.json');

/** Where the description of the real server is not there, tests that need it say so and skip. */
export const hasOpenApi = existsSync(FILE);

type Json = null | boolean | number | string | Json[] | { [name: string]: Json };

/** OpenAPI 3.0's `nullable` in the words of JSON Schema. */
function withoutNullable(schema: Json): Json {
  if (Array.isArray(schema)) return schema.map(withoutNullable);
  if (schema === null || typeof schema !== 'object') return schema;
  const { nullable, ...rest } = schema;
  const plain: { [name: string]: Json } = Object.fromEntries(
    Object.entries(rest).map(([name, value]) => [name, withoutNullable(value)]),
  );
  if (nullable !== true) return plain;
  return Object.keys(plain).some((name) => ['type', '$ref', 'allOf', 'anyOf'].includes(name))
    ? { anyOf: [plain, { type: 'null' }] }
    : plain;
}

/** Errors of a body against the schema of a path and status, as text; undefined where it is valid. */
export function makeValidator(): (path: string, status: number, body: unknown) => string | undefined {
  const document = withoutNullable(JSON.parse(readFileSync(FILE, 'utf8')) as Json) as {
    paths: Json;
    components: Json;
  };
  const ajv = new Ajv({ strict: false, allErrors: false, validateFormats: true });
  addFormats.default(ajv);
  ajv.addFormat('byte', /^[A-Za-z0-9+/]*={0,2}$/);
  ajv.addSchema({ $id: 'openapi', ...document });
  return (path, status, body) => {
    const pointer = `openapi#/paths/${path.replaceAll('/', '~1')}/get/responses/${status}/content/application~1json/schema`;
    const validate = ajv.getSchema(pointer);
    if (validate === undefined) return `nothing is said of ${path} ${status}`;
    return validate(body) === true ? undefined : JSON.stringify(validate.errors);
  };
}
