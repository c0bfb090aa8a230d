import * as z from 'zod';
import { compile } from '../../compile.ts';
import { fastFormOf } from './fast-form.ts';

/** True of a value that a schema takes as it is. */
export type ValueCheck = (value: unknown) => boolean;

/** True of a value that all of them take. */
export function passesAll(checks: readonly ValueCheck[], value: unknown): boolean {
  for (const check of checks) if (!check(value)) return false;
  return true;
}

const checks = new WeakMap<object, ValueCheck | null>();

/**
 * True of a value that its schema takes and would return as it is: that is nearly every record, at a tenth of what zod
 * takes. False says nothing: the value then goes through its schema, which may still take it.
 */
export function isTakenAsIs<Rec>(schema: z.ZodType<Rec>, raw: unknown): raw is Rec {
  return checkOf(schema)?.(raw) ?? false;
}

/** What `isTakenAsIs` asks; null for a schema with a part that may change what it reads. */
export function checkOf(schema: z.ZodType): ValueCheck | null {
  let check = checks.get(schema);
  if (check === undefined) {
    check = compileCheck(schema);
    checks.set(schema, check);
  }
  return check;
}

/** Null for a schema with a part that may change what it reads: its values always go through it. */
function compileCheck(schema: z.ZodType): ValueCheck | null {
  const source = new CheckSource();
  const test = source.test(schema, 'raw');
  if (test === undefined) return null;
  const made = compile(
    `(() => { ${source.functions.join('\n')}\nreturn (raw) => ${test}; })()`,
    source.scope,
  );
  return isCheck(made) ? made : null;
}

export function isCheck(value: unknown): value is ValueCheck {
  return typeof value === 'function';
}

/** Tests of values without parts, by the type of their schema. */
const SCALARS: Readonly<Record<string, (value: string) => string>> = {
  unknown: () => 'true',
  null: (value) => `${value} === null`,
  string: (value) => `typeof ${value} === 'string'`,
  boolean: (value) => `typeof ${value} === 'boolean'`,
};

/** Operators of bounds that belong to what they bound. */
const BOUNDS: Readonly<Record<string, string>> = { greater_than: '>=', less_than: '<=' };

const NUMBERS: Readonly<Record<string, (value: string) => string>> = {
  int32: (value) => `Number.isInteger(${value}) && ${value} >= -2147483648 && ${value} <= 2147483647`,
  safeint: (value) => `Number.isSafeInteger(${value})`,
};

/**
 * Puts together the source of a check from zod's definitions. What of them enters the source are names of members, as
 * JSON; expressions and functions stand in the scope. `undefined` stands for what cannot be checked without the schema.
 */
class CheckSource {
  readonly functions: string[] = [];
  readonly scope: Record<string, unknown> = {};
  private readonly known = new Map<z.ZodType, string | undefined>();
  private last = 0;

  /** An expression that is true where the schema takes the value of a variable. */
  test(schema: z.core.$ZodType, value: string): string | undefined {
    if (!(schema instanceof z.ZodType)) return undefined;
    const fast = fastFormOf(schema);
    if (fast !== undefined) return `${this.name(fast)}(${value})`;
    const own = this.testType(schema, value);
    const further = own === undefined ? undefined : this.testChecks(schema, value);
    return further === undefined ? undefined : `(${[own, ...further].join(' && ')})`;
  }

  private testType(schema: z.ZodType, value: string): string | undefined {
    if (schema instanceof z.ZodOptional) return this.or(`${value} === undefined`, schema.unwrap(), value);
    if (schema instanceof z.ZodNullable) return this.or(`${value} === null`, schema.unwrap(), value);
    if (schema instanceof z.ZodUnion) return this.testUnion(schema, value);
    if (schema instanceof z.ZodObject) return this.call(schema, value, () => this.objectBody(schema));
    if (schema instanceof z.ZodArray) return this.call(schema, value, () => this.arrayBody(schema));
    if (schema instanceof z.ZodRecord) return this.call(schema, value, () => this.recordBody(schema));
    return this.testScalar(schema, value);
  }

  private testScalar(schema: z.ZodType, value: string): string | undefined {
    if (schema instanceof z.ZodNumberFormat) return NUMBERS[schema.format ?? '']?.(value);
    if (schema instanceof z.ZodNumber) return `Number.isFinite(${value})`;
    if (schema instanceof z.ZodLiteral) return `${this.name(schema.values)}.has(${value})`;
    if (schema instanceof z.ZodEnum) return `${this.name(new Set(schema.options))}.has(${value})`;
    return SCALARS[schema.type]?.(value);
  }

  private testUnion(schema: z.ZodUnion, value: string): string | undefined {
    const options = schema.options.map((option) => this.test(option, value));
    return options.includes(undefined) ? undefined : `(${options.join(' || ')})`;
  }

  private or(first: string, inner: z.core.$ZodType, value: string): string | undefined {
    const rest = this.test(inner, value);
    return rest === undefined ? undefined : `(${first} || ${rest})`;
  }

  /** What `.regex()`, `.min()`, `.max()` and `.refine()` add. */
  private testChecks(schema: z.ZodType, value: string): string[] | undefined {
    const tests = (schema.def.checks ?? []).map(({ _zod: { def } }) => this.testCheck(def, value));
    return tests.includes(undefined) ? undefined : tests.flatMap((test) => test ?? []);
  }

  private testCheck(def: z.core.$ZodCheckDef, value: string): string | undefined {
    if ('pattern' in def && def.pattern instanceof RegExp) return `${this.name(def.pattern)}.test(${value})`;
    if (def.check === 'custom' && 'fn' in def) return `${this.name(def.fn)}(${value})`;
    const operator = BOUNDS[def.check];
    const isBound = operator !== undefined && 'inclusive' in def && def.inclusive === true && 'value' in def;
    return isBound ? `${value} ${operator} ${Number(def.value)}` : undefined;
  }

  /** A call of the function that checks a schema, which is written once. */
  private call(schema: z.ZodType, value: string, body: () => string | undefined): string | undefined {
    if (!this.known.has(schema)) {
      const name = `check${++this.last}`;
      const written = body();
      if (written !== undefined) this.functions.push(`function ${name}(value) { ${written} }`);
      this.known.set(schema, written === undefined ? undefined : name);
    }
    const name = this.known.get(schema);
    return name === undefined ? undefined : `${name}(${value})`;
  }

  /** Members that the schema does not name are noticed by their number. */
  private objectBody(schema: z.ZodObject): string | undefined {
    const shape: z.core.$ZodShape = schema.shape;
    const lines = ['let members = 0, found = 0, member;'];
    for (const [name, inner] of Object.entries(shape)) {
      const test = this.test(inner, 'member');
      if (test === undefined) return undefined;
      lines.push(
        `member = value[${JSON.stringify(name)}]; if (member !== undefined) found++; if (!${test}) return false;`,
      );
    }
    const { catchall } = schema.def;
    if (catchall instanceof z.ZodUnknown) return `${IS_OBJECT} ${lines.join(' ')} return true;`;
    if (!(catchall instanceof z.ZodNever)) return undefined;
    return `${IS_OBJECT} ${lines.join(' ')} for (const name in value) members++; return members === found;`;
  }

  private arrayBody(schema: z.ZodArray): string | undefined {
    const test = this.test(schema.element, 'element');
    return (
      test &&
      `if (!Array.isArray(value)) return false; for (const element of value) if (!${test}) return false; return true;`
    );
  }

  private recordBody(schema: z.ZodRecord): string | undefined {
    const [key, member] = [this.test(schema.keyType, 'name'), this.test(schema.valueType, 'member')];
    if (key === undefined || member === undefined) return undefined;
    return `${IS_OBJECT} for (const name in value) { const member = value[name];
      if (name === '__proto__' || !${key} || !${member}) return false; } return true;`;
  }

  private name(value: unknown): string {
    const name = `given${++this.last}`;
    this.scope[name] = value;
    return name;
  }
}

const IS_OBJECT = `if (typeof value !== 'object' || value === null || Array.isArray(value)) return false;`;
