import type { NetworkAction } from '../network/actions/made-action.ts';
import { NONE } from '../network/chain/tables/block-table.ts';
import type { World } from '../network/chain/world.ts';
import { lastSeqno } from './trace-json.ts';

/** An action as v3 prints it. Numbers beyond 2^53 among the details are bigints. */
export interface ActionJson {
  readonly trace_id: string;
  readonly action_id: string;
  readonly start_lt: string;
  readonly end_lt: string;
  readonly start_utime: number;
  readonly end_utime: number;
  readonly trace_end_lt: string;
  readonly trace_end_utime: number;
  readonly trace_mc_seqno_end: number;
  readonly transactions: readonly string[];
  readonly success: boolean | null;
  readonly type: string;
  readonly details: object;
  readonly raw_action?: object;
  readonly trace_external_hash?: string;
  readonly trace_external_hash_norm?: string;
  readonly accounts?: readonly string[];
  readonly finality: string;
}

/** Addresses of the accounts whose transactions an action is made of, each once. */
export function actionAccounts(world: World, action: NetworkAction): string[] {
  const accounts = new Set(action.transactions.map((row) => world.transactions.account.get(row)));
  return [...accounts].map((account) => world.accounts.address(account));
}

/** The lts and seconds between which an action took place. */
export function actionTimes(
  world: World,
  { transactions }: NetworkAction,
): {
  readonly startLt: number;
  readonly endLt: number;
  readonly startUtime: number;
  readonly endUtime: number;
} {
  const lts = transactions.map((row) => world.transactions.lt.get(row));
  const utimes = transactions.map((row) => world.utimeOf(row));
  return {
    startLt: Math.min(...lts),
    endLt: Math.max(...lts),
    startUtime: Math.min(...utimes),
    endUtime: Math.max(...utimes),
  };
}

/** The JSON of one action of a complete trace. */
export function actionJson(world: World, trace: number, action: NetworkAction, id: string): ActionJson {
  const { traces, transactions, messages } = world;
  const hashes = world.hashes('transaction');
  const times = actionTimes(world, action);
  const root = traces.root.get(trace);
  const began = transactions.inMessage.get(root);
  const external = began !== NONE && messages.isExternalIn(began);
  const details = action.details();
  const raw = () =>
    rawAction({
      TraceId: hashes.text(root),
      ActionId: id,
      StartLt: times.startLt,
      EndLt: times.endLt,
      StartUtime: times.startUtime,
      EndUtime: times.endUtime,
      Type: action.type,
      Success: action.success,
    });
  return {
    trace_id: hashes.text(root),
    action_id: id,
    start_lt: String(times.startLt),
    end_lt: String(times.endLt),
    start_utime: times.startUtime,
    end_utime: times.endUtime,
    trace_end_lt: String(transactions.lt.get(traces.last.get(trace))),
    trace_end_utime: traces.endUtime.get(trace),
    trace_mc_seqno_end: lastSeqno(world, trace),
    transactions: action.transactions.map((row) => hashes.text(row)),
    success: action.success,
    type: printedType(action.type, details),
    details,
    ...(action.type === 'unknown' ? { raw_action: raw() } : {}),
    ...(external
      ? {
          trace_external_hash: world.hashes('message').text(began),
          trace_external_hash_norm: world.hashes('norm').text(began),
        }
      : {}),
    finality: 'finalized',
  };
}

/** Transfers and calls that carry another currency are printed under a type that no request can name. */
function printedType(type: string, details: object): string {
  const carries = Object.entries(details).some(
    ([name, value]: [string, unknown]) =>
      name.endsWith('extra_currencies') &&
      typeof value === 'object' &&
      value !== null &&
      Object.keys(value).length > 0,
  );
  return carries ? 'extra_currency_transfer' : type;
}

const BIG = /"#big (\d+)"/g;

/** JSON text in which bigints are numbers. */
function textWithBigNumbers(value: object): string {
  const marked = JSON.stringify(value, (_, member: unknown) =>
    typeof member === 'bigint' ? `#big ${member}` : member,
  );
  return marked.replace(BIG, '$1');
}

/** The JSON text of an action. */
export function actionText(action: ActionJson): string {
  // Only these types have such numbers, and a plain text is made several times faster.
  return action.type.startsWith('layerzero') ? textWithBigNumbers(action) : JSON.stringify(action);
}

/**
 * Members of a stored row of actions as the server prints it: beginnings, and the ends that each of them has. The ends
 * stand for members of their own where the beginning is empty.
 */
const MEMBERS: readonly (readonly [string, string])[] = [
  ['', 'TraceId ActionId StartLt EndLt StartUtime EndUtime TraceEndLt TraceEndUtime TraceMcSeqnoEnd'],
  ['', 'Source SourceSecondary Destination DestinationSecondary Asset AssetSecondary Asset2 Asset2Secondary'],
  ['', 'Opcode TxHashes Type Value Amount Success TraceExternalHash ExtraCurrencies'],
  ['TonTransfer', 'Content Encrypted'],
  [
    'JettonTransfer',
    'ResponseDestination ForwardAmount QueryId CustomPayload ForwardPayload Comment IsEncryptedComment',
  ],
  [
    'NFTTransfer',
    'IsPurchase Price QueryId CustomPayload ForwardPayload ForwardAmount ResponseDestination NFTItemIndex',
  ],
  ['JettonSwap', 'Dex Sender PeerSwaps'],
  [
    'JettonSwapDexIncomingTransfer',
    'Amount Asset Source Destination SourceJettonWallet DestinationJettonWallet',
  ],
  [
    'JettonSwapDexOutgoingTransfer',
    'Amount Asset Source Destination SourceJettonWallet DestinationJettonWallet',
  ],
  ['ChangeDNSRecord', 'Key ValueSchema Value Flags'],
  ['NFTMint', 'NFTItemIndex'],
  [
    'DexWithdrawLiquidityData',
    'Dex Amount1 Amount2 Asset1Out Asset2Out UserJettonWallet1 UserJettonWallet2 DexJettonWallet1 DexJettonWallet2 LpTokensBurnt',
  ],
  [
    'DexDepositLiquidityData',
    'Dex Amount1 Amount2 Asset1 Asset2 UserJettonWallet1 UserJettonWallet2 LpTokensMinted TargetAsset1 TargetAmount1 TargetAsset2 TargetAmount2',
  ],
  ['StakingData', 'Provider TsNft TokensBurnt TokensMinted'],
  [
    'MultisigCreateOrder',
    'QueryId OrderSeqno IsCreatedBySigner IsSignedByCreator CreatorIndex ExpirationDate OrderBoc',
  ],
  ['MultisigApprove', 'SignerIndex ExitCode'],
  ['MultisigExecute', 'QueryId OrderSeqno ExpirationDate ApprovalsNum SignersHash OrderBoc'],
  ['VestingSendMessage', 'QueryId MessageBoc'],
  ['VestingAddWhitelist', 'QueryId AccountsAdded'],
  ['EvaaSupply', 'SenderJettonWallet RecipientJettonWallet MasterJettonWallet Master AssetId IsTon'],
  ['EvaaWithdraw', 'RecipientJettonWallet MasterJettonWallet Master FailReason AssetId'],
  ['EvaaLiquidate', 'FailReason DebtAmount AssetId'],
  ['JvaultClaim', 'ClaimedJettons ClaimedAmounts'],
  ['JvaultStake', 'Period MintedStakeJettons StakeWallet'],
  ['Jvault', 'ExitCode'],
];

const EMPTY = Object.fromEntries(
  MEMBERS.flatMap(([beginning, ends]) => ends.split(' ').map((end) => [beginning + end, null])),
);

/** The stored row, which the server adds to what it has no shape for: every member, null if it says nothing. */
function rawAction(members: Readonly<Record<string, unknown>>): object {
  return { ...EMPTY, ...members };
}
