import * as z from 'zod';
import { checkOf, isCheck, type ValueCheck } from '../declaration/check.ts';
import { placeOf } from '../declaration/place.ts';
import { unwrap } from '../declaration/unwrap.ts';
import type { Layout, Member } from './object-layout.ts';
import { compileReader } from './object-source.ts';
import { ANY_TEXT, runsOf } from './runs.ts';
import { viewClassOf, type MemberKind } from './view.ts';

const layouts = new WeakMap<object, Layout | null>();

/** The layout of a strict object; null for another schema, or one with a part that may change what it reads. */
export function layoutOf(schema: z.core.$ZodType): Layout | null {
  let layout = layouts.get(schema);
  if (layout === undefined) {
    layout = schema instanceof z.ZodObject && checkOf(schema) !== null ? makeLayout(schema) : null;
    layouts.set(schema, layout);
  }
  return layout;
}

function makeLayout(schema: z.ZodObject): Layout | null {
  const own = ownChecks(schema);
  const isStrict = schema.def.catchall instanceof z.ZodNever;
  if (!isStrict || own === undefined || own.patterns.length > 0) return null;
  const shape: z.core.$ZodShape = schema.shape;
  const members: Member[] = [];
  const required: Member[] = [];
  let size = 1;
  for (const [name, inner] of Object.entries(shape)) {
    const check = checkOfMember(name, inner);
    const member = memberOf(name, size, { inner, check });
    members.push(member);
    if (!check(undefined)) required.push(member);
    size += sizeOf(member);
  }
  const byName = new Map(members.map((member) => [member.name, member]));
  const View = viewClassOf(schema, members);
  const parts = { View, members, required, size, checks: own.custom };
  return { ...parts, byName, read: compileReader(parts) };
}

function checkOfMember(name: string, schema: z.core.$ZodType): ValueCheck {
  const check = schema instanceof z.ZodType ? checkOf(schema) : null;
  if (check === null) throw new TypeError(`there is no check of ${name}, though there is one of its object`);
  return check;
}

function memberOf(
  name: string,
  slot: number,
  { inner, check }: { readonly inner: z.core.$ZodType; readonly check: ValueCheck },
): Member {
  const reading = isBare(inner) ? readingOf(inner, check) : wholeReading('json', [check]);
  return { name, slot, takesNull: check(null), ...reading };
}

/** True where what lets a value be null or left out asks nothing else of it. */
function isBare(schema: z.core.$ZodType): boolean {
  const isWrapper = schema instanceof z.ZodOptional || schema instanceof z.ZodNullable;
  return !isWrapper || (!hasChecks(schema) && isBare(schema.unwrap()));
}

function hasChecks({ _zod }: z.core.$ZodType): boolean {
  return (_zod.def.checks ?? []).length > 0;
}

/** Of lists and maps only the place is noted: each of their elements has slots of its own. */
function sizeOf({ kind, layout }: Member): number {
  return kind === 'object' && layout !== undefined ? layout.size : 1;
}

/** The member at a path, and how many slots behind its record; undefined for one within a value that is parsed. */
export function find(
  { byName }: Layout,
  [name = '', ...path]: readonly string[],
): { readonly member: Member; readonly slot: number } | undefined {
  const member = byName.get(name);
  if (member === undefined || path.length === 0) return member && { member, slot: member.slot };
  const inner = member.kind === 'object' && member.layout ? find(member.layout, path) : undefined;
  return inner && { ...inner, slot: member.slot + inner.slot };
}

type Reading = Pick<Member, 'kind' | 'runs' | 'checks' | 'layout'>;

function readingOf(member: z.core.$ZodType, check: ValueCheck): Reading {
  const inner = unwrap(member);
  const parts = hasPlaces(member) ? partsReading(inner) : undefined;
  const checks = inner instanceof z.ZodUnknown && !hasChecks(inner) ? [] : [check];
  return textReading(inner) ?? parts ?? wholeReading(isScalar(inner) ? 'scalar' : 'json', checks);
}

/** True where the members of a member have their own places in rows; else it is one value of its row, as JSON. */
function hasPlaces(member: z.core.$ZodType): boolean {
  const kind = placeOf(member)?.kind;
  return kind === 'spread' || kind === 'elsewhere';
}

/** A value that is looked at as a whole. */
function wholeReading(kind: MemberKind, checks: readonly ValueCheck[]): Reading {
  return { kind, runs: [], checks, layout: undefined };
}

function textReading(inner: z.core.$ZodType): Reading | undefined {
  const own = inner instanceof z.ZodString ? ownChecks(inner) : undefined;
  if (own === undefined || own.patterns.length > 1) return undefined;
  const [pattern] = own.patterns;
  const runs = pattern === undefined ? ANY_TEXT : runsOf(pattern);
  return runs && { kind: 'text', runs, checks: own.custom, layout: undefined };
}

/** An object, or many of one kind. */
function partsReading(inner: z.core.$ZodType): Reading | undefined {
  const [kind, part] = partOf(inner);
  const layout = part && layoutOf(part);
  return layout == null ? undefined : { kind, runs: [], checks: [], layout };
}

function partOf(inner: z.core.$ZodType): [MemberKind, z.core.$ZodType | undefined] {
  if (inner instanceof z.ZodObject) return ['object', inner];
  if (inner instanceof z.ZodArray && !hasChecks(inner)) return ['list', inner.element];
  const isMap = inner instanceof z.ZodRecord && inner.keyType instanceof z.ZodString;
  return ['map', isMap && !hasChecks(inner) && !hasChecks(inner.keyType) ? inner.valueType : undefined];
}

/** What `.regex()` and `.refine()` ask of a value; undefined where something else is asked too. */
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

/** True of what is one token of JSON; also of text with something that only the whole text shows. */
function isScalar(inner: z.core.$ZodType): boolean {
  if (inner instanceof z.ZodUnion) return inner.options.every((option) => isScalar(unwrap(option)));
  if (inner instanceof z.ZodPipe) return isScalar(unwrap(inner.in));
  return SCALARS.some((kind) => inner instanceof kind);
}

const SCALARS = [z.ZodString, z.ZodNumber, z.ZodBoolean, z.ZodEnum, z.ZodLiteral];
