import { describe, expect, it } from 'vitest';
import type { ZodType } from 'zod';
import { action } from '../../src/records/action.ts';
import { block } from '../../src/records/block.ts';
import { jettonBurn } from '../../jobs/jetton_burns.ts';
import { jettonTransfer } from '../../jobs/jetton_transfers.ts';
import { message, transaction } from '../../src/records/transaction.ts';
import { nftTransfer } from '../../jobs/nft_transfers.ts';
import { nominatorEvent } from '../../jobs/nominator_events.ts';
import { nominatorPoolEvent } from '../../jobs/nominator_pool_events.ts';
import { trace } from '../../jobs/traces.ts';
import { validatorComplaint } from '../../jobs/validator_complaints.ts';
import { validatorCycle } from '../../jobs/validator_cycles.ts';
import { validatorElection } from '../../jobs/validator_elections.ts';
import { validatorEvent } from '../../jobs/validator_events.ts';
import { openapiSchemas, referenceOf, type Described } from '../support/openapi.ts';
import { sampleBlock, sampleMessage, sampleTransaction } from '../support/samples/sample-records.ts';
import {
  sampleAction,
  sampleComplaint,
  sampleCycle,
  sampleElection,
  sampleDocumentedTrace,
  sampleJettonBurn,
  sampleJettonTransfer,
  sampleNftTransfer,
  sampleNominatorEvent,
  samplePoolEvent,
  sampleTrace,
  sampleValidatorEvent,
} from '../support/samples/sample-streams.ts';
import { hasOpenapi } from '../support/shared-data.ts';

/** Paths of all members that the document names; a tree of records counts as its first record. */
function documentedMembers(name: string): string[] {
  const schemas = openapiSchemas();
  const membersOf = (schema: Described | undefined, path: string, within: readonly string[]): string[] => {
    if (schema === undefined) return [];
    const reference = referenceOf(schema);
    if (reference !== undefined) {
      return within.includes(reference) ? [] : membersOf(schemas[reference], path, [...within, reference]);
    }
    if (schema.items !== undefined) return membersOf(schema.items, `${path}[]`, within);
    return Object.entries(schema.properties ?? {}).flatMap(([member, type]) => {
      const at = path === '' ? member : `${path}.${member}`;
      return [at, ...membersOf(type, at, within)];
    });
  };
  return membersOf(schemas[name], '', [name]);
}

/** Maps and free-form JSON. */
const FREE_FORM = /(^|\.)decoded[^.]*$|currencies$|(^|\.)details$|^transactions$/;

/** Every member that a record has, by path, without those inside free-form JSON. */
function membersOf(value: unknown, path = ''): string[] {
  if (Array.isArray(value)) return value.flatMap((element) => membersOf(element, `${path}[]`));
  if (typeof value !== 'object' || value === null || FREE_FORM.test(path)) return [];
  return Object.entries(value).flatMap(([name, member]) => {
    const at = path === '' ? name : `${path}.${name}`;
    return [at, ...membersOf(member, at)];
  });
}

const actions = [sampleAction({ transactions_full: [sampleTransaction()] })];
const wholeTrace = { ...sampleTrace({ actions }), trace: treeOf(sampleDocumentedTrace(), sampleTrace()) };

/** The tree with the members of both forms. */
function treeOf(documented: Record<string, unknown>, sent: Record<string, unknown>): unknown {
  return { ...(documented['trace'] as object), ...(sent['trace'] as object) };
}

const [accused = {}] = sampleCycle()['validators'] as Record<string, unknown>[];
const cycle = sampleCycle({ validators: [{ ...accused, complaints: [sampleComplaint()] }] });

const cases: [string, Record<string, unknown>, ZodType][] = [
  ['Block', sampleBlock(), block],
  ['Message', sampleMessage(), message],
  ['Transaction', sampleTransaction(), transaction],
  ['Trace', wholeTrace, trace],
  ['Action', sampleAction({ transactions_full: [sampleTransaction()] }), action],
  ['JettonTransfer', sampleJettonTransfer(), jettonTransfer],
  ['JettonBurn', sampleJettonBurn(), jettonBurn],
  ['NFTTransfer', sampleNftTransfer(), nftTransfer],
  ['ValidatorEvent', sampleValidatorEvent(), validatorEvent],
  ['ValidatorComplaint', sampleComplaint(), validatorComplaint],
  ['ValidatorElection', sampleElection(), validatorElection],
  ['ValidatorCycle', cycle, validatorCycle],
  ['NominatorPoolEvent', sampleNominatorEvent(), nominatorEvent],
  ['NominatorPoolValidatorEvent', samplePoolEvent(), nominatorPoolEvent],
];

/** Below its root the tree repeats the same members. */
function firstLevel(members: readonly string[]): string[] {
  return [...new Set(members.filter((member) => !member.startsWith('trace.children[]')))];
}

describe('the schemas of the API', () => {
  it.each(cases)('name every member of the synthetic %s', (_name, sample, schema) => {
    expect(schema.safeParse(sample).error).toBeUndefined();
  });

  it.skipIf(!hasOpenapi).each(cases)(
    'match the synthetic %s, which has every documented member',
    (name, sample) => {
      const sent = new Set(membersOf(sample));
      expect(firstLevel(documentedMembers(name)).filter((member) => !sent.has(member))).toEqual([]);
    },
  );

  it.skipIf(!hasOpenapi).each(cases)('match %s, which has no undocumented member', (name, sample) => {
    const documented = new Set(documentedMembers(name));
    expect(firstLevel(membersOf(sample)).filter((member) => !documented.has(member))).toEqual([]);
  });
});
