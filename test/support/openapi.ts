import * as z from 'zod';
import { readOpenapi } from './shared-data.ts';

/** The part of an OpenAPI schema that tests need. */
export interface Described {
  readonly type?: string;
  readonly properties?: Record<string, Described>;
  readonly additionalProperties?: Described;
  readonly items?: Described;
  readonly allOf?: readonly Described[];
  readonly $ref?: string;
}

const response = z.looseObject({
  responses: z.looseObject({
    200: z
      .looseObject({
        content: z.record(z.string(), z.looseObject({ schema: z.custom<Described>() })).optional(),
      })
      .optional(),
  }),
});

const document = z.looseObject({
  paths: z.record(z.string(), z.record(z.string(), z.unknown())),
  components: z.looseObject({ schemas: z.record(z.string(), z.custom<Described>()) }),
});

/** The schemas of the API's OpenAPI document, by name. */
export function openapiSchemas(version: 'v2' | 'v3' = 'v3'): Readonly<Record<string, Described | undefined>> {
  return document.parse(readOpenapi(version)).components.schemas;
}

/** The paths of the API's OpenAPI document. */
export function openapiPaths(version: 'v2' | 'v3'): string[] {
  return Object.keys(document.parse(readOpenapi(version)).paths);
}

/** The response schema of an endpoint, by its whole path; undefined if the document does not have it. */
export function openapiResponse(path: string): Described | undefined {
  const { paths } = document.parse(readOpenapi(path.startsWith('/api/v2') ? 'v2' : 'v3'));
  const operation = response.safeParse(Object.values(paths[path] ?? {})[0]);
  return Object.values(operation.data?.responses[200]?.content ?? {})[0]?.schema;
}

/** The name of the schema that another one refers to, if it does. */
export function referenceOf({ $ref, allOf }: Described): string | undefined {
  return ($ref ?? allOf?.find((part) => part.$ref !== undefined)?.$ref)?.split('/').at(-1);
}
