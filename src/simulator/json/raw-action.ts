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
export function rawAction(said: Readonly<Record<string, unknown>>): object {
  return { ...EMPTY, ...said };
}
