import * as z from 'zod';
import { mappingOf } from '../declaration/row-layout.ts';
import { ANY_TEXT, kindWhere, MANY, type Run } from './json-bytes.ts';
import {
  compileReader,
  type Layout,
  type LayoutMember,
  type ValueCheck,
  viewClassOf,
  type MemberKind,
} from './view.ts';
import { unwrap } from '../declaration/record.ts';

/*
 * Derives from a schema which bytes its records may have. Besides zod, this is the only check of records. It
 * accepts no value that the schema would refuse or change. Some values that the schema accepts are not
 * accepted here; these are parsed and checked by the schema.
 */

const layouts = new WeakMap<object, Layout | null>();

/** The layout of a strict object; null for another schema, whose records are all parsed. */
export function layoutOf(schema: z.core.$ZodType): Layout | null {
  let layout = layouts.get(schema);
  if (layout === undefined) {
    layout = schema instanceof z.ZodObject ? makeLayout(schema) : null;
    layouts.set(schema, layout);
  }
  return layout;
}

function makeLayout(schema: z.ZodObject): Layout | null {
  const own = ownChecks(schema);
  const isStrict = schema.def.catchall instanceof z.ZodNever;
  if (!isStrict || own === undefined || own.patterns.length > 0) return null;
  const shape: z.core.$ZodShape = schema.shape;
  const members: LayoutMember[] = [];
  const required: LayoutMember[] = [];
  let size = 1;
  for (const [name, inner] of Object.entries(shape)) {
    const takesNull = isTakenAsIs(inner, null);
    const member = {
      name,
      slot: size,
      takesNull,
      ...(isBare(inner) ? readingOf(inner) : wholeReading(inner)),
    };
    members.push(member);
    if (!isTakenAsIs(inner, undefined)) required.push(member);
    // A list or map takes one slot here; each of its elements has slots of its own.
    size += member.kind === 'object' && member.layout !== undefined ? member.layout.size : 1;
  }
  const byName = new Map(members.map((member) => [member.name, member]));
  const View = viewClassOf(schema, members);
  const parts = { View, members, required, size, checks: own.custom };
  return { ...parts, byName, read: compileReader(parts) };
}

/** True if the schema accepts null or undefined unchanged. */
function isTakenAsIs(schema: z.core.$ZodType, value: null | undefined): boolean {
  const { success, data } = z.safeParse(schema, value);
  return success && data === value;
}

/** The member at a path, and its slot relative to its record; undefined if it is within a parsed value. */
export function find(
  { byName }: Layout,
  [name = '', ...path]: readonly string[],
): { readonly member: LayoutMember; readonly slot: number } | undefined {
  const member = byName.get(name);
  if (member === undefined || path.length === 0) return member && { member, slot: member.slot };
  const inner = member.kind === 'object' && member.layout ? find(member.layout, path) : undefined;
  return inner && { ...inner, slot: member.slot + inner.slot };
}

type Reading = Pick<LayoutMember, 'kind' | 'encoding' | 'runs' | 'checks' | 'layout' | 'schema'>;

const NO_READING: Omit<Reading, 'kind'> = {
  encoding: 'utf8',
  runs: [],
  checks: [],
  layout: undefined,
  schema: undefined,
};

/** True if the wrappers that allow null or undefined have no checks of their own. */
function isBare(schema: z.core.$ZodType): boolean {
  const isWrapper = schema instanceof z.ZodOptional || schema instanceof z.ZodNullable;
  return !isWrapper || (!hasChecks(schema) && isBare(schema.unwrap()));
}

function hasChecks({ _zod }: z.core.$ZodType): boolean {
  return (_zod.def.checks ?? []).length > 0;
}

function readingOf(member: z.core.$ZodType): Reading {
  const inner = unwrap(member);
  return (
    textReading(inner) ??
    (hasPlaces(member) ? partsReading(inner) : undefined) ??
    scalarReading(inner) ??
    wholeReading(inner)
  );
}

/**
 * True if the members of a member have columns or rows of their own; otherwise the member is one JSON value of its row.
 */
function hasPlaces(member: z.core.$ZodType): boolean {
  const kind = mappingOf(member)?.kind;
  return kind === 'spread' || kind === 'elsewhere';
}

/** A JSON value, which its schema checks unless the schema accepts anything. */
function wholeReading(schema: z.core.$ZodType): Reading {
  const inner = unwrap(schema);
  const isAny = inner instanceof z.ZodUnknown && !hasChecks(inner) && isBare(schema);
  return { ...NO_READING, kind: 'json', schema: isAny ? undefined : schema };
}

function textReading(inner: z.core.$ZodType): Reading | undefined {
  const own = inner instanceof z.ZodString ? ownChecks(inner) : undefined;
  if (own === undefined || own.patterns.length > 1) return undefined;
  const [pattern] = own.patterns;
  const runs = pattern === undefined ? ANY : runsOf(pattern);
  return runs && { ...NO_READING, ...runs, kind: 'text', checks: own.custom };
}

/** An object, or a list or map of objects of one kind. */
function partsReading(inner: z.core.$ZodType): Reading | undefined {
  const [kind, part] = partOf(inner);
  const layout = part && layoutOf(part);
  return layout == null ? undefined : { ...NO_READING, kind, layout };
}

function partOf(inner: z.core.$ZodType): [MemberKind, z.core.$ZodType | undefined] {
  if (inner instanceof z.ZodObject) return ['object', inner];
  if (inner instanceof z.ZodArray && !hasChecks(inner)) return ['list', inner.element];
  const isMap = inner instanceof z.ZodRecord && inner.keyType instanceof z.ZodString;
  return ['map', isMap && !hasChecks(inner) && !hasChecks(inner.keyType) ? inner.valueType : undefined];
}

/** The checks of `.regex()` and `.refine()`; undefined if the schema has other checks. */
function ownChecks(schema: z.ZodType): { patterns: RegExp[]; custom: ValueCheck[] } | undefined {
  const [patterns, custom]: [RegExp[], ValueCheck[]] = [[], []];
  for (const { _zod } of schema.def.checks ?? []) {
    const { def } = _zod;
    if ('pattern' in def && def.pattern instanceof RegExp) patterns.push(def.pattern);
    else if (def.check === 'custom' && 'fn' in def && isCheck(def.fn)) custom.push(def.fn);
    else return undefined;
  }
  return { patterns, custom };
}

function isCheck(value: unknown): value is ValueCheck {
  return typeof value === 'function';
}

/** One JSON token, or text with checks that need the whole text. */
function scalarReading(inner: z.core.$ZodType): Reading | undefined {
  const checks = scalarChecks(inner);
  return checks && { ...NO_READING, kind: 'scalar', checks };
}

function scalarChecks(schema: z.core.$ZodType): ValueCheck[] | undefined {
  if (!(schema instanceof z.ZodType)) return undefined;
  const own = typeCheck(schema);
  const further = (schema.def.checks ?? []).map(({ _zod: { def } }) => furtherCheck(def));
  const known = further.filter((check) => check !== undefined);
  return own === undefined || known.length < further.length ? undefined : [own, ...known];
}

function typeCheck(schema: z.ZodType): ValueCheck | undefined {
  if (schema instanceof z.ZodUnion) return unionCheck(schema.options);
  if (schema instanceof z.ZodNumberFormat) return NUMBERS[schema.format ?? ''];
  if (schema instanceof z.ZodNumber) return Number.isFinite;
  if (schema instanceof z.ZodLiteral) return oneOf(schema.values);
  if (schema instanceof z.ZodEnum) return oneOf(new Set(schema.options));
  if (schema instanceof z.ZodString) return (value) => typeof value === 'string';
  return schema instanceof z.ZodBoolean ? (value) => typeof value === 'boolean' : undefined;
}

function oneOf(values: ReadonlySet<unknown>): ValueCheck {
  return (value) => values.has(value);
}

function unionCheck(options: readonly z.core.$ZodType[]): ValueCheck | undefined {
  const each = options.map((option) => scalarChecks(option));
  const known = each.filter((checks) => checks !== undefined);
  if (known.length < each.length) return undefined;
  return (value) => known.some((checks) => checks.every((check) => check(value)));
}

const NUMBERS: Readonly<Record<string, ValueCheck>> = {
  int32: (value) => Number.isInteger(value) && Number(value) >= -(2 ** 31) && Number(value) < 2 ** 31,
  safeint: Number.isSafeInteger,
};

/** The checks of `.regex()`, `.min()`, `.max()` and `.refine()`. */
function furtherCheck(def: z.core.$ZodCheckDef): ValueCheck | undefined {
  if ('pattern' in def && def.pattern instanceof RegExp) {
    const { pattern } = def;
    return (value) => pattern.test(String(value));
  }
  if (def.check === 'custom' && 'fn' in def && isCheck(def.fn)) return def.fn;
  if (!('inclusive' in def && def.inclusive === true && 'value' in def)) return undefined;
  const bound = Number(def.value);
  if (def.check === 'greater_than') return (value) => Number(value) >= bound;
  return def.check === 'less_than' ? (value) => Number(value) <= bound : undefined;
}

/** The patterns that a text may match: each is a sequence of runs. */
type Runs = Pick<Reading, 'runs' | 'encoding'>;

const ANY: Runs = { runs: ANY_TEXT, encoding: 'utf8' };

/** A character or a class of characters, with a quantifier. */
const PART = /(\[[^\]^]+\]|\\[d$/.]|[\w:+=$,-])(?:([?*+])|\{(\d+)(?:(,)(\d*))?\})?/y;
/** The first group of alternatives without a quantifier and without nested groups. */
const ALTERNATIVES = /^(.*?)\(\?:([^()]*)\)(?![?*+{])(.*)$/;
const TIMES: Readonly<Record<string, Pick<Run, 'least' | 'most'>>> = {
  '?': { least: 0, most: 1 },
  '*': { least: 0, most: MANY },
  '+': { least: 1, most: MANY },
};

/**
 * The runs of ASCII bytes that a regular expression stands for, one sequence for each alternative. Text that
 * matches a sequence greedily also matches the expression; other text may match it, too. Undefined if the
 * expression contains anything but characters, classes and alternatives.
 */
export function runsOf({ source, flags }: RegExp): Runs | undefined {
  if (flags !== '' || !/^\^.*[^\\]\$$/.test(source)) return undefined;
  const rows = alternativesOf(source.slice(1, -1)).map(runsIn);
  const runs = rows.filter((row) => row !== undefined);
  return runs.length === rows.length ? { runs, encoding: 'latin1' } : undefined;
}

function alternativesOf(source: string): string[] {
  const group = ALTERNATIVES.exec(source);
  if (group === null) return [source];
  const [, before = '', inner = '', after = ''] = group;
  return inner.split('|').flatMap((one) => alternativesOf(before + one + after));
}

function runsIn(source: string): Run[] | undefined {
  const runs: Run[] = [];
  for (let at = 0; at < source.length; at = PART.lastIndex) {
    PART.lastIndex = at;
    const found = PART.exec(source);
    if (found === null) return undefined;
    const [, part = '', sign, least = '1', more, most] = found;
    const expression = new RegExp(`^${part}$`);
    // A byte beyond ASCII is a part of a character.
    const kind = kindWhere((character) => character <= '\u007f' && expression.test(character));
    const counted = {
      least: Number(least),
      most: more === undefined ? Number(least) : Number(most || MANY),
    };
    runs.push({ kind, ...(TIMES[sign ?? ''] ?? counted) });
  }
  return runs;
}
