import { Ajv } from 'ajv';
import addFormats from 'ajv-formats';
import { readOpenapi } from '../support/shared-data.ts';

type Json = null | boolean | number | string | Json[] | { [name: string]: Json };

/** Replaces OpenAPI 3.0's `nullable` by what JSON Schema has for it. */
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

function makeAjv(version: 'v2' | 'v3' = 'v3'): Ajv {
  const document = withoutNullable(readOpenapi(version) as Json) as {
    paths: Json;
    components: Json;
  };
  const ajv = new Ajv({ strict: false, allErrors: false, validateFormats: true });
  addFormats.default(ajv);
  ajv.addFormat('byte', /^[A-Za-z0-9+/]*={0,2}$/);
  ajv.addSchema({ $id: 'openapi', ...document });
  return ajv;
}

/** Errors of a body against the schema of a path and status, as text; undefined if it is valid. */
export function makeValidator(
  version: 'v2' | 'v3' = 'v3',
): (path: string, status: number, body: unknown) => string | undefined {
  const ajv = makeAjv(version);
  return (path, status, body) => {
    const pointer = `openapi#/paths/${path.replaceAll('/', '~1')}/get/responses/${status}/content/application~1json/schema`;
    const validate = ajv.getSchema(pointer);
    if (validate === undefined) return `nothing is said of ${path} ${status}`;
    return validate(body) === true ? undefined : JSON.stringify(validate.errors);
  };
}

/** Types whose details are described under another name. */
const DESCRIBED_AS: Readonly<Record<string, string>> = {
  nft_purchase: 'NftTransfer',
  stake_withdrawal: 'WithdrawStake',
  teleitem_start_auction: 'NftPutOnAuction',
  teleitem_cancel_auction: 'NftCancelAuction',
  layerzero_send: 'LayerZeroSend',
  layerzero_receive: 'LayerZeroReceive',
};
/** Types whose details are not described. */
const UNDESCRIBED = ['unknown', 'stake_withdrawal_request'];

function describedName(type: string, details: object, camel: string): string {
  if ('min_out_amount' in details) return 'ToncoJettonSwap';
  if (type !== 'extra_currency_transfer') return DESCRIBED_AS[type] ?? camel;
  return 'comment' in details ? 'TonTransfer' : 'CallContract';
}

interface Detailed {
  readonly details: object;
}

/**
 * Errors of an action's details against the schema of its type; members that the schema does not have are
 * errors, too.
 */
export function makeDetailsValidator(): (type: string, action: Detailed) => string | undefined {
  const ajv = makeAjv();
  return (type, { details }) => {
    if (UNDESCRIBED.includes(type)) return undefined;
    const camel = type.replaceAll(/(?:^|_)([a-z])/g, (_, letter: string) => letter.toUpperCase());
    const name = describedName(type, details, camel);
    const pointer = `openapi#/components/schemas/ActionDetails${name}`;
    const validate = ajv.getSchema(pointer);
    if (validate === undefined) return `nothing is said of ${type}`;
    if (validate(details) !== true) return JSON.stringify(validate.errors);
    const { properties } = validate.schema as { properties: object };
    const extra = Object.keys(details).filter((member) => !Object.hasOwn(properties, member));
    return extra.length === 0 ? undefined : `nothing is said of ${extra.join(', ')}`;
  };
}
