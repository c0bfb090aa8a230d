import type * as z from 'zod';

const forms = new WeakMap<object, (value: unknown) => boolean>();

/**
 * Says of a schema that changes what it reads which values it takes as they are: those in the form that servers send.
 * They need not go through the schema.
 */
export function withFastForm<S extends z.ZodType>(schema: S, takesAsIs: (value: unknown) => boolean): S {
  forms.set(schema.def, takesAsIs);
  return schema;
}

export function fastFormOf(schema: z.ZodType): ((value: unknown) => boolean) | undefined {
  return forms.get(schema.def);
}
