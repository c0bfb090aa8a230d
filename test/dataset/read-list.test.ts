import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import { parseJson } from '../../src/api/read-response.ts';
import { readList } from '../../src/dataset/bytes/read-list.ts';
import { ANY_TEXT, textEnd, runsOf } from '../../src/dataset/bytes/json-bytes.ts';
import { rawOf, RecordView } from '../../src/dataset/bytes/view.ts';
import { elsewhere, spread } from '../../src/dataset/declaration/record.ts';
import { ACCOUNT } from '../../src/ton/address.ts';
import { SHARD } from '../../src/ton/shard.ts';
import { ADDRESS } from '../../src/records/members.ts';
import { runs } from '../support/thorough.ts';

const inner = z.strictObject({ id: z.string(), on: z.boolean().nullish() });
const record = z.strictObject({
  id: z.string().regex(/^[0-9A-F]{4}$/),
  lt: z.string().regex(/^-?\d{1,19}$/),
  at: z.int(),
  on: z.boolean().nullish(),
  text: z.string().nullish(),
  state: z.enum(['a', 'b']).nullish(),
  inner: spread('inner_', inner.nullish()),
  list: elsewhere(z.array(inner).nullish()),
  map: elsewhere(z.record(z.string(), inner).nullish()),
  whole: inner.nullish(),
  free: z.unknown().optional(),
});

const FULL = `{"id":"00AF","lt":"-5","at":7,"on":true,"text":"é","state":"a","inner":{"id":"x"},"list":[{"id":"y","on":null}],"map":{"k":{"id":"z"}},"whole":{"id":"w"},"free":{"a":[1,"b"]}}`;

async function read(body: string, slice: { turns: number } = { turns: 0 }) {
  const bytes = Buffer.from(body);
  const turn = () => {
    slice.turns += 1;
    return Promise.resolve();
  };
  return readList({ bytes, list: 'rows', record, parse: parseJson, turn });
}

/** Reads a body with one record: the record, whether it is a view, and what is left of the body. */
async function readOne(json: string, rest = '') {
  const list = await read(`{"rows":[${json}]${rest}}`);
  const [one] = list?.records ?? [];
  return list && { isView: one instanceof RecordView, record: rawOf(one), rest: list.rest };
}

describe('reading records from their bytes', () => {
  it('gives views of the members of a record', async () => {
    const list = await read(`{"rows":[${FULL},${FULL}],"more":1}`);
    const [one] = list?.records ?? [];
    expect(one).toBeInstanceOf(RecordView);
    expect(list?.rest).toBe('{"rows":[],"more":1}');
    expect(rawOf(one)).toEqual(JSON.parse(FULL));
    const {
      id,
      lt,
      at,
      on,
      text,
      state,
      inner: nested,
      list: many,
      map,
      whole,
      free,
    } = one as z.output<typeof record>;
    expect([nested, many?.[0], map?.['k']].every((part: unknown) => part instanceof RecordView)).toBe(true);
    // This member is one value of its row.
    expect(whole).not.toBeInstanceOf(RecordView);
    expect({ id, lt, at, on, state, whole, free }).toEqual({
      id: '00AF',
      lt: '-5',
      at: 7,
      on: true,
      state: 'a',
      whole: { id: 'w' },
      free: { a: [1, 'b'] },
    });
    expect(text).toBe('é');
    expect([nested?.id, nested?.on, many?.[0]?.id, many?.[0]?.on, map?.['k']?.id]).toEqual([
      'x',
      undefined,
      'y',
      null,
      'z',
    ]);
  });

  it.each([
    ['members in another order', '{"at":1,"id":"0000","lt":"1"}', true],
    ['an empty list and map', '{"id":"0000","lt":"1","at":1,"list":[],"map":{}}', true],
    ['a member that the schema does not name', '{"id":"0000","lt":"1","at":1,"new":1}', false],
    ['a repeated member', '{"id":"0000","lt":"1","at":1,"at":2}', false],
    ['a repeated member, null first', '{"id":"0000","lt":"1","at":1,"on":null,"on":true}', false],
    [
      'a repeated name in a map',
      '{"id":"0000","lt":"1","at":1,"map":{"a":{"id":"1"},"a":{"id":"2"}}}',
      false,
    ],
    ['__proto__ in a map', '{"id":"0000","lt":"1","at":1,"map":{"__proto__":{"id":"1"}}}', false],
    ['a missing member', '{"id":"0000","lt":"1"}', false],
    ['null for a required member', '{"id":"0000","lt":"1","at":null}', false],
    ['text of a wrong form', '{"id":"000G","lt":"1","at":1}', false],
    ['text that is too long', '{"id":"00000","lt":"1","at":1}', false],
    ['an escape', String.raw`{"id":"0000","lt":"1","at":1,"text":"a\tb"}`, false],
    ['an escape in a parsed value', String.raw`{"id":"0000","lt":"1","at":1,"free":"a\"b"}`, true],
    ['spaces', '{"id": "0000","lt":"1","at":1}', false],
    ['minus zero', '{"id":"0000","lt":"1","at":-0}', false],
    ['a fraction', '{"id":"0000","lt":"1","at":1.0}', false],
    ['an exponent', '{"id":"0000","lt":"1","at":1e3}', false],
    ['a long number', '{"id":"0000","lt":"1","at":9007199254740993}', false],
    ['a long number in a parsed value', '{"id":"0000","lt":"1","at":1,"free":[9007199254740993]}', true],
    ['a long number in a free-form value', '{"id":"0000","lt":"1","at":1,"free":9007199254740993}', true],
    ['an escape of NUL in a parsed value', String.raw`{"id":"0000","lt":"1","at":1,"free":"a\u0000b"}`, true],
    ['an escape of half a surrogate pair', String.raw`{"id":"0000","lt":"1","at":1,"free":["\ud800"]}`, true],
    ['an escape of NUL in a text', String.raw`{"id":"0000","lt":"1","at":1,"text":"a\u0000b"}`, false],
    ['a fraction in a parsed value', '{"id":"0000","lt":"1","at":1,"free":{"a":0.5}}', true],
  ])('reads %s', async (_what, json, isView) => {
    expect(await readOne(json)).toEqual({
      isView,
      record: parseJson(json),
      rest: '{"rows":[]}',
    });
  });

  it.each([
    ['a broken word', '{"rows":[{"id":"0000","lt":"1","at":1,"on":nul}]}'],
    ['a leading zero', '{"rows":[{"id":"0000","lt":"1","at":01}]}'],
    ['a tab in a text', '{"rows":[{"id":"0000","lt":"1","at":1,"text":"\t"}]}'],
    ['an extra comma', '{"rows":[{"id":"0000","lt":"1","at":1},]}'],
  ])('leaves the whole body to the parser if JSON is broken: %s', async (_what, body) => {
    await expect(read(body).then((list) => list ?? parseJson(body))).rejects.toThrow('broken JSON');
  });

  it.each([
    ['another list', `{"lines":[${FULL}]}`],
    ['no end', `{"rows":[${FULL}`],
    ['a record without an end', `{"rows":[${FULL.slice(0, -1)}`],
    ['a comma before the first record', `{"rows":[,${FULL}]}`],
    ['two records without a comma', `{"rows":[${FULL}${FULL}]}`],
    ['null for a list', '{"rows":null}'],
    ['a list at the top level', '[1]'],
  ])('finds no list in a body with %s', async (_what, body) => {
    expect(await read(body)).toBeUndefined();
  });

  it.each([
    [
      'a list that is not the first',
      `{"more":{"rows":[1]},"rows":[${FULL}]}`,
      '{"more":{"rows":[1]},"rows":[]}',
    ],
    ['spaces everywhere', ` { "more" : 1 , "rows" : [ ${FULL} ] } `, ' { "more" : 1 , "rows" : [] } '],
    ['an escaped name', `{"row\\u0073":[${FULL}]}`, '{"row\\u0073":[]}'],
    ['a repeated list', `{"rows":[${FULL}],"rows":[]}`, '{"rows":[],"rows":[]}'],
  ])('reads views of the records in a body with %s', async (_what, body, rest) => {
    const list = await read(body);
    expect(list?.records.map((one) => one instanceof RecordView)).toEqual([true]);
    expect(list?.rest).toBe(rest);
  });

  it.each([
    ['a long number', '12345678901234567890', 12345678901234567890n],
    ['a list', '[1]', [1]],
    ['null', 'null', null],
  ])('parses only the record with %s', async (_what, json, record) => {
    const list = await read(`{"rows":[${FULL},${json},${FULL}]}`);
    expect(list?.records.map((one) => one instanceof RecordView)).toEqual([true, false, true]);
    expect(list?.records[1]).toEqual(record);
  });

  it('reports a record with unbalanced brackets as broken', async () => {
    const body = `{"rows":[${FULL.replace('"free":{"a":[1,"b"]}', '"free":{]')}]}`;
    await expect(read(body).then((list) => list ?? parseJson(body))).rejects.toThrow('broken JSON');
  });

  it('mistakes no escape in a text behind the records for a name', async () => {
    const list = await read(`{"rows":[${FULL}],"book":{"url":"https://a.b/?c\\u0026d"}}`);
    expect(list?.records).toHaveLength(1);
  });

  it('releases the memory of records that do not fit', async () => {
    const before = process.memoryUsage().arrayBuffers;
    const list = await read(`{"rows":[${'{},'.repeat(80_000)}${FULL}]}`);
    const [first, last] = [list?.records[0], list?.records.at(-1)];
    expect([list?.records.length, first, rawOf(last)]).toEqual([80_001, {}, JSON.parse(FULL)]);
    expect(last).toBeInstanceOf(RecordView);
    expect((last as RecordView).$page.slots.byteLength).toBeLessThan(2 ** 20);
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(2 ** 23);
  });

  it('keeps the position of a record if another one does not fit', async () => {
    const list = await read(`{"rows":[${FULL},{"id":1},${FULL}]}`);
    expect(list?.records.map((one) => one instanceof RecordView)).toEqual([true, false, true]);
    expect(list?.records.map((one) => rawOf(one))).toEqual([JSON.parse(FULL), { id: 1 }, JSON.parse(FULL)]);
  });

  it('yields the thread between records', async () => {
    const slice = { turns: 0 };
    const list = await read(`{"rows":[${Array.from({ length: 1000 }, () => FULL).join(',')}]}`, slice);
    expect(list?.records).toHaveLength(1000);
    expect(slice.turns).toBeGreaterThan(5);
  });
});

describe('a text that COPY escapes, or that is not ASCII', () => {
  const forms = [/^.+$/s, /^[^a]+$/, /^\S+$/, /^[à-ÿ]+$/, /^[\t-~]+$/, /^[\\x]+$/, undefined];
  const texts = [
    'b\tc',
    'b\\c',
    '\\x',
    'b\nc',
    'b\rc',
    '\\N',
    'é',
    'éà',
    '日本',
    '😀',
    '\u0080',
    'b"c',
    'plain',
  ];

  it.each(forms)('is never copied unchanged if it has to be escaped, in the form %s', async (form) => {
    const text = form === undefined ? z.string() : z.string().regex(form);
    const schema = z.strictObject({ text });
    let fitting = 0;
    for (const value of texts.filter((value) => text.safeParse(value).success)) {
      for (const escaped of [JSON.stringify(value), asEscapes(value)]) {
        const bytes = Buffer.from(`{"rows":[{"text":${escaped}}]}`);
        const turn = () => Promise.resolve();
        const list = await readList({ bytes, list: 'rows', record: schema, parse: parseJson, turn });
        const [one] = list?.records ?? [];
        expect(one).toHaveProperty('text', value);
        if (one instanceof RecordView) expect(value).not.toMatch(/[\\\t\n\r]/);
        fitting += 1;
      }
    }
    expect(fitting).toBeGreaterThan(0);
  });
});

/** The text of a string with all characters escaped. */
function asEscapes(text: string): string {
  const units = Array.from({ length: text.length }, (_, at) =>
    text.charCodeAt(at).toString(16).padStart(4, '0'),
  );
  return `"${units.map((unit) => `\\u${unit}`).join('')}"`;
}

/** Expressions like the program's, and some that are not runs. */
const EXPRESSIONS = [
  ACCOUNT,
  SHARD,
  ADDRESS,
  /^-?\d{1,19}$/,
  /^[A-Za-z0-9+/]{42}[AEIMQUYcgkosw048]=$/,
  /^a?b*c+$/,
];

describe('runs of an expression', () => {
  it.each(EXPRESSIONS)('are texts that it accepts: %s', (expression) => {
    const rows = runsOf(expression)?.runs ?? [];
    let agreed = 0;
    const text = fc.oneof(
      fc.stringMatching(expression),
      fc.stringMatching(expression).map((fitting) => fitting.slice(1)),
      fc.stringMatching(expression).map((fitting) => `${fitting}0`),
      fc.string({
        unit: fc.constantFrom('-', '0', '1', ':', 'A', 'a', 'b', 'c', '$', '=', '"', '\\', '\n', 'é'),
      }),
    );
    fc.assert(
      fc.property(text, (tried) => {
        const bytes = Buffer.from(`${tried}"`);
        const isRuns = textEnd(bytes, 0, rows) === bytes.length - 1;
        if (isRuns) agreed += 1;
        return !isRuns || expression.test(tried);
      }),
      { seed: 3, numRuns: runs(1000) },
    );
    expect(agreed).toBeGreaterThan(runs(100));
  });

  it.each([/^a|b$/, /^(a|b)$/, /^[^a]$/, /^.$/, /a$/, /^a/, /^a$/i, /^\w$/, /^(?:ab)?$/, String.raw`^a\$`])(
    'do not exist for %s',
    (expression) => {
      expect(runsOf(new RegExp(expression))).toBeUndefined();
    },
  );

  it('end any text at its quote, and at every character that has to be escaped', () => {
    const ends = ['', 'a', 'é', 'x'.repeat(50), 'a\\', 'a\n'].map((text) =>
      textEnd(Buffer.from(`${text}"`), 0, ANY_TEXT),
    );
    expect(ends).toEqual([0, 1, 2, 50, -1, -1]);
    expect(textEnd(Buffer.from('no end'), 0, ANY_TEXT)).toBe(-1);
  });
});
