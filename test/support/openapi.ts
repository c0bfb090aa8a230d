import { z } from 'zod';
import { readOpenapi } from './shared-data.ts';

/** One schema of the OpenAPI document, as far as tests ask. */
export interface Described {
  readonly type?: string;
  readonly properties?: Record<string, Described>;
  readonly additionalProperties?: Described;
  readonly items?: Described;
  readonly allOf?: readonly Described[];
  readonly $ref?: string;
}

const document = z.looseObject({
  components: z.looseObject({ schemas: z.record(z.string(), z.custom<Described>()) }),
});

/** The schemas of the API's OpenAPI document, by name. */
export function openapiSchemas(version: 'v2' | 'v3' = 'v3'): Readonly<Record<string, Described | undefined>> {
  return document.parse(readOpenapi(version)).components.schemas;
}

/** The name of the schema that another one refers to, if it does. */
export function referenceOf({ $ref, allOf }: Described): string | undefined {
  return ($ref ?? allOf?.find((part) => part.$ref !== undefined)?.$ref)?.split('/').at(-1);
}
