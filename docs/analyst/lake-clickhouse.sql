-- What analysts call over a lake: functions of analyst.sql in the words of ClickHouse. Its views follow.
-- Replace /data/lake by the place of yours.
set session_timezone = 'UTC';

create database if not exists etl;

create database if not exists ton;

-- Of bytes, as they stand before a friendly address's checksum.
create or replace function etl_crc16_of as (crc, x) -> toUInt16(bitAnd(65535,
  bitXor(bitXor(bitShiftLeft(toUInt32(crc), 8), bitShiftLeft(toUInt32(x), 12)), bitXor(bitShiftLeft(toUInt32(x), 5), toUInt32(x)))));

create or replace function etl_crc16_mix as (x) -> bitXor(x, bitShiftRight(x, 4));

create or replace function etl_crc16 as (bytes) -> arrayFold(
  (crc, place) -> etl_crc16_of(crc, etl_crc16_mix(bitXor(bitShiftRight(crc, 8), toUInt16(ascii(substring(assumeNotNull(bytes), place, 1)))))),
  range(1, 35), toUInt16(0));

create or replace function etl_bytes_of_friendly as (word) -> tryBase64Decode(translate(trim(word), '-_', '+/'));

create or replace function etl_raw_of_bytes as (bytes, isFriendly) -> concat(
  if(throwIf(isFriendly and leftPad(hex(etl_crc16(bytes)), 4, '0') <> hex(substring(bytes, 35, 2)), 'no address: its checksum is wrong') = 0, '', ''),
  toString(reinterpretAsInt8(substring(bytes, 2, 1))), ':', hex(substring(bytes, 3, 32)));

create or replace function ton_address as (form) -> multiIf(
  match(trim(form), '^-?[0-9]{1,10}:[0-9a-fA-F]{64}$'), concat(toString(toInt32OrZero(substringIndex(trim(form), ':', 1))), ':', upper(substringIndex(trim(form), ':', -1))),
  match(trim(form), '^[0-9a-fA-F]{64}$'), concat('0:', upper(trim(form))),
  length(trim(form)) = 48, etl_raw_of_bytes(etl_bytes_of_friendly(form), length(trim(form)) = 48),
  null);

create or replace function etl_friendly_of_bytes as (bytes) ->
  translate(base64Encode(concat(bytes, unhex(leftPad(hex(etl_crc16(bytes)), 4, '0')))), '+/', '-_');

-- The form that can be bounced, of the main network.
create or replace function ton_address_friendly as (address) -> etl_friendly_of_bytes(
  unhex(concat('11', if(startsWith(ton_address(address), '-1:'), 'FF', '00'), right(ton_address(address), 64))));

create or replace function to_timestamp as (seconds) -> toDateTime64(seconds, 6, 'UTC');

create or replace function nano_to_ton as (nanotons) -> nanotons * 0.000000001::Decimal(10, 9);

create or replace view ton.account_messages as select * from deltaLakeLocal('/data/lake/account_messages') where day = (select max(day) from deltaLakeLocal('/data/lake/account_messages'));

create or replace view ton.account_state_changes as select * from deltaLakeLocal('/data/lake/account_state_changes') where day = (select max(day) from deltaLakeLocal('/data/lake/account_state_changes'));

create or replace view ton.account_states as select * from deltaLakeLocal('/data/lake/account_states') where day = (select max(day) from deltaLakeLocal('/data/lake/account_states'));

create or replace view ton.account_transactions as select * from deltaLakeLocal('/data/lake/account_transactions') where day = (select max(day) from deltaLakeLocal('/data/lake/account_transactions'));

create or replace view ton.action_accounts as select * from deltaLakeLocal('/data/lake/action_accounts');

create or replace view ton.action_transactions as select * from deltaLakeLocal('/data/lake/action_transactions');

create or replace view ton.actions as select * from deltaLakeLocal('/data/lake/actions');

create or replace view ton.address_book as select * from deltaLakeLocal('/data/lake/address_book') where day = (select max(day) from deltaLakeLocal('/data/lake/address_book'));

create or replace view ton.block_parents as select * from deltaLakeLocal('/data/lake/block_parents');

create or replace view ton.blocks as select * from deltaLakeLocal('/data/lake/blocks');

create or replace view ton.complaint_votes as select * from deltaLakeLocal('/data/lake/complaint_votes');

create or replace view ton.cycle_validators as select * from deltaLakeLocal('/data/lake/cycle_validators');

create or replace view ton.dns_auctions as select * from deltaLakeLocal('/data/lake/dns_auctions') where day = (select max(day) from deltaLakeLocal('/data/lake/dns_auctions'));

create or replace view ton.dns_records as select * from deltaLakeLocal('/data/lake/dns_records') where day = (select max(day) from deltaLakeLocal('/data/lake/dns_records'));

create or replace view ton.election_participants as select * from deltaLakeLocal('/data/lake/election_participants');

create or replace view ton.extended_account_states as select * from deltaLakeLocal('/data/lake/extended_account_states') where day = (select max(day) from deltaLakeLocal('/data/lake/extended_account_states'));

create or replace view ton.jetton_burns as select * from deltaLakeLocal('/data/lake/jetton_burns');

create or replace view ton.jetton_descriptions as select * from deltaLakeLocal('/data/lake/jetton_descriptions') where day = (select max(day) from deltaLakeLocal('/data/lake/jetton_descriptions'));

create or replace view ton.jetton_masters as select * from deltaLakeLocal('/data/lake/jetton_masters') where day = (select max(day) from deltaLakeLocal('/data/lake/jetton_masters'));

create or replace view ton.jetton_transfers as select * from deltaLakeLocal('/data/lake/jetton_transfers');

create or replace view ton.jetton_wallets as select * from deltaLakeLocal('/data/lake/jetton_wallets') where day = (select max(day) from deltaLakeLocal('/data/lake/jetton_wallets'));

create or replace view ton.masterchain_heads as select * from deltaLakeLocal('/data/lake/masterchain_heads') where day = (select max(day) from deltaLakeLocal('/data/lake/masterchain_heads'));

create or replace view ton.message_locations as select * from deltaLakeLocal('/data/lake/message_locations') where day = (select max(day) from deltaLakeLocal('/data/lake/message_locations'));

create or replace view ton.messages as select * from deltaLakeLocal('/data/lake/messages');

create or replace view ton.multisig_order_actions as select * from deltaLakeLocal('/data/lake/multisig_order_actions') where day = (select max(day) from deltaLakeLocal('/data/lake/multisig_order_actions'));

create or replace view ton.multisig_orders as select * from deltaLakeLocal('/data/lake/multisig_orders') where day = (select max(day) from deltaLakeLocal('/data/lake/multisig_orders'));

create or replace view ton.multisig_wallets as select * from deltaLakeLocal('/data/lake/multisig_wallets') where day = (select max(day) from deltaLakeLocal('/data/lake/multisig_wallets'));

create or replace view ton.nft_collections as select * from deltaLakeLocal('/data/lake/nft_collections') where day = (select max(day) from deltaLakeLocal('/data/lake/nft_collections'));

create or replace view ton.nft_descriptions as select * from deltaLakeLocal('/data/lake/nft_descriptions') where day = (select max(day) from deltaLakeLocal('/data/lake/nft_descriptions'));

create or replace view ton.nft_items as select * from deltaLakeLocal('/data/lake/nft_items') where day = (select max(day) from deltaLakeLocal('/data/lake/nft_items'));

create or replace view ton.nft_sales as select * from deltaLakeLocal('/data/lake/nft_sales') where day = (select max(day) from deltaLakeLocal('/data/lake/nft_sales'));

create or replace view ton.nft_transfers as select * from deltaLakeLocal('/data/lake/nft_transfers');

create or replace view ton.nominator_events as select * from deltaLakeLocal('/data/lake/nominator_events');

create or replace view ton.nominator_pool_events as select * from deltaLakeLocal('/data/lake/nominator_pool_events');

create or replace view ton.nominator_pools as select * from deltaLakeLocal('/data/lake/nominator_pools') where day = (select max(day) from deltaLakeLocal('/data/lake/nominator_pools'));

create or replace view ton.shard_block_proofs as select * from deltaLakeLocal('/data/lake/shard_block_proofs') where day = (select max(day) from deltaLakeLocal('/data/lake/shard_block_proofs'));

create or replace view ton.shard_states as select * from deltaLakeLocal('/data/lake/shard_states');

create or replace view ton.token_metadata as select * from deltaLakeLocal('/data/lake/token_metadata') where day = (select max(day) from deltaLakeLocal('/data/lake/token_metadata'));

create or replace view ton.top_accounts as select * from deltaLakeLocal('/data/lake/top_accounts') where day = (select max(day) from deltaLakeLocal('/data/lake/top_accounts'));

create or replace view ton.trace_nodes as select * from deltaLakeLocal('/data/lake/trace_nodes');

create or replace view ton.traces as select * from deltaLakeLocal('/data/lake/traces');

create or replace view ton.transactions as select * from deltaLakeLocal('/data/lake/transactions');

create or replace view ton.validator_complaints as select * from deltaLakeLocal('/data/lake/validator_complaints');

create or replace view ton.validator_cycles as select * from deltaLakeLocal('/data/lake/validator_cycles');

create or replace view ton.validator_elections as select * from deltaLakeLocal('/data/lake/validator_elections');

create or replace view ton.validator_events as select * from deltaLakeLocal('/data/lake/validator_events');

create or replace view ton.vesting_contracts as select * from deltaLakeLocal('/data/lake/vesting_contracts') where day = (select max(day) from deltaLakeLocal('/data/lake/vesting_contracts'));

create or replace view ton.daily_activity as
select d.day, t.transactions, t.aborted, t.accounts, m.messages, m.value, t.fees, c.traces, b.blocks, t.bounced
from (select {day:Date} as day) d cross join (
  select count(*) as transactions, count(*) filter (where x.aborted) as aborted, count(distinct x.account) as accounts,
    (sum(x.total_fees)) as fees, count(*) filter (where x.aborted and x.bounce_type = 'ok') as bounced
  from ton.transactions x where toDate(x.utime, 'UTC') = {day:Date} having count(*) > 0) t cross join (
  select count(*) as messages, (sum(x.value)) as value
  from ton.messages x where toDate(x.utime, 'UTC') = {day:Date}) m cross join (select count(*) as traces from ton.traces x where toDate(x.utime, 'UTC') = {day:Date}) c cross join (select count(*) as blocks from ton.blocks x where toDate(x.utime, 'UTC') = {day:Date}) b;

create or replace view ton.hourly_activity as
select d.day, t.hour, t.transactions, t.aborted, t.accounts, t.fees
from (select {day:Date} as day) d cross join (
  select date_trunc('hour', x.utime, 'UTC') as hour, count(*) as transactions, count(*) filter (where x.aborted) as aborted,
    count(distinct x.account) as accounts, (sum(x.total_fees)) as fees
  from ton.transactions x where toDate(x.utime, 'UTC') = {day:Date} group by 1) t;

create or replace view ton.active_wallets as
select d.day, m.wallets, m.messages
from (select {day:Date} as day) d cross join (
  select count(distinct x.destination) as wallets, count(*) as messages
  from ton.messages x
  where toDate(x.utime, 'UTC') = {day:Date} and x.source is null and x.destination is not null having count(*) > 0) m;

create or replace view ton.fees_by_part as
select d.day, (f.storage) as storage, (f.gas) as gas, (f.action) as action, (f.bounce) as bounce,
  (f.total - f.storage - f.gas - f.action - f.bounce) as import, (f.total) as total, (m.forward) as forward
from (select {day:Date} as day) d cross join (
  select coalesce(sum(x.storage_fees_collected), 0) + coalesce(sum(x.credit_due_fees_collected), 0) as storage,
    coalesce(sum(x.compute_gas_fees), 0) as gas, coalesce(sum(x.action_total_action_fees), 0) as action,
    coalesce(sum(x.bounce_msg_fees), 0) as bounce, sum(x.total_fees) as total
  from ton.transactions x where toDate(x.utime, 'UTC') = {day:Date} having count(*) > 0) f cross join (
  select coalesce(sum(x.fwd_fee + x.ihr_fee), 0) as forward
  from ton.messages x where toDate(x.utime, 'UTC') = {day:Date} and x.out_msg_tx_hash is not null) m;

create or replace view ton.failed_transactions as
select d.day, f.phase, f.reason, f.code, f.transactions, f.accounts, f.fees, f.bounced
from (select {day:Date} as day) d cross join (
  select x.phase, x.reason, x.code, count(*) as transactions, count(distinct x.account) as accounts, (sum(x.total_fees)) as fees,
    count(*) filter (where x.bounce_type = 'ok') as bounced
  from (
    select t.account, t.total_fees, t.bounce_type,
      case when t.compute_skipped then 'skipped' when t.compute_success is false then 'compute'
        when t.action_success is false then 'action' else 'other' end as phase,
      case when t.compute_skipped then t.compute_reason end as reason,
      case when t.compute_skipped then null when t.compute_success is false then t.compute_exit_code
        when t.action_success is false then t.action_result_code end as code
    from ton.transactions t where toDate(t.utime, 'UTC') = {day:Date} and t.aborted) x
  group by x.phase, x.reason, x.code) f;

create or replace view ton.gas_by_contract as
select d.day, g.account, g.code_hash, g.runs, g.failed, g.gas_used, g.gas_fees
from (select {day:Date} as day) d cross join (
  select x.account, argMax(tuple(x.after_code_hash), tuple(coalesce(x.after_code_hash<>'',false), x.lt)).1 as code_hash, count(*) as runs, count(*) filter (where not x.compute_success) as failed,
    (sum(x.compute_gas_used)) as gas_used, (sum(x.compute_gas_fees)) as gas_fees
  from ton.transactions x where toDate(x.utime, 'UTC') = {day:Date} and x.compute_gas_used is not null
  group by x.account) g;

create or replace view ton.message_delays as
select d.day, x.from_workchain, x.from_shard, x.to_workchain, x.to_shard, x.messages, x.mean_seconds as mean_seconds,
  x.median_seconds as median_seconds, x.longest_seconds as longest_seconds
from (select {day:Date} as day) d cross join (
  with seen as materialized (
    select t.utime, t.hash, t.in_msg_utime, t.in_msg_hash, t.block_workchain, t.block_shard
    from ton.transactions t where toDate(t.utime, 'UTC') = {day:Date}),
  first as materialized (select min(r.in_msg_utime) as utime from seen r),
  delays as (
    select g.from_workchain, g.from_shard, g.to_workchain, g.to_shard, g.delay, count(*) as messages
    from (
      select s.block_workchain as from_workchain, s.block_shard as from_shard, r.block_workchain as to_workchain, r.block_shard as to_shard,
        r.utime - r.in_msg_utime as delay
      from seen r
      join (
        select x.hash, x.out_msg_tx_hash from ton.messages x
        where x.utime >= (select f.utime from first f) and x.utime < toDateTime64({day:Date} + 1, 6, 'UTC') and x.out_msg_tx_hash is not null) m on m.hash = r.in_msg_hash
      join (
        select x.hash, x.block_workchain, x.block_shard from seen x
        union all
        select x.hash, x.block_workchain, x.block_shard from ton.transactions x
        where x.utime >= (select f.utime from first f) and x.utime < toDateTime64({day:Date}, 6, 'UTC')) s on s.hash = m.out_msg_tx_hash
     ) g
    group by 1, 2, 3, 4, 5)
  select g.from_workchain, g.from_shard, g.to_workchain, g.to_shard, sum(g.messages)::Nullable(Int64) as messages,
    sum(g.messages * g.seconds) / sum(g.messages) as mean_seconds, min(g.seconds) filter (where 2 * g.upto >= g.total) as median_seconds,
    max(g.seconds) as longest_seconds
  from (
    select h.from_workchain, h.from_shard, h.to_workchain, h.to_shard, h.messages, extract(epoch from h.delay) as seconds,
      sum(h.messages) over (partition by h.from_workchain, h.from_shard, h.to_workchain, h.to_shard order by h.delay) as upto,
      sum(h.messages) over (partition by h.from_workchain, h.from_shard, h.to_workchain, h.to_shard) as total
    from delays h) g
  group by 1, 2, 3, 4) x;

create or replace view ton.ton_proxies as
select '0:8CDC1D7640AD5EE326527FC1AD0514F468B30DC84B0173F0E155F451B4E11F7C' as address, 'stonfi' as dex, 'Proxy TON of STON.fi v1' as note
union all
select '0:671963027F7F85659AB55B821671688601CDCF1EE674FC7FBBB1A776A18D34A3', 'stonfi_v2', 'Proxy TON of STON.fi v2'
union all
select '0:949C4C66760C002800E2FA3D8A3CA4E1C90A9373B53AE7472033483BF14CD95E', 'tonco', 'Proxy TON of TONCO'
union all
select '0:D0A1CE4CDC187C79615EA618BD6C29617AF7A56D966F5A192A768F345EE63FD2', null, 'Wrapped TON';

create or replace view ton.swaps as
select s.utime as utime, s.trace_id as trace_id, s.action_id as action_id, s.start_utime as start_utime, s.account as account, s.dex as dex, s.success as success,
  case when i.address is not null then 'TON' else s.asset_in end as asset_in, s.amount_in as amount_in,
  case when o.address is not null then 'TON' else s.asset_out end as asset_out, s.amount_out as amount_out,
  case when i.address is not null or s.asset_in = 'TON' then s.paid_by else s.paid_to end as pool
from (
  select d.utime, d.trace_id, d.action_id, d.start_utime, d.account, d.dex, d.success, d.paid_to, d.paid_by, d.amount_in, d.amount_out,
    case when d.named_in is not null then case when d.named_in like '%:%' then upper(d.named_in) else d.named_in end when d.amount_in::Nullable(String) is not null and (d.dex in ('stonfi_v2', 'tonco') or d.dex <> 'stonfi' and d.wallet_in is null) then 'TON' end as asset_in,
    case when d.named_out is not null then case when d.named_out like '%:%' then upper(d.named_out) else d.named_out end when d.amount_out::Nullable(String) is not null and (d.dex in ('stonfi_v2', 'tonco') or d.dex <> 'stonfi' and d.wallet_out is null) then 'TON' end as asset_out
  from (
    select a.utime, a.trace_id, a.action_id, a.start_utime, a.source as account, JSONExtract(a.details, 'dex', 'Nullable(String)') as dex, a.success,
      coalesce(JSONExtract(a.details, 'asset_in', 'Nullable(String)'), JSONExtract(a.details, 'dex_incoming_transfer', 'asset', 'Nullable(String)'), JSONExtract(a.details, 'peer_swaps', 1, 'asset_in', 'Nullable(String)')) as named_in,
      coalesce(JSONExtract(a.details, 'dex_incoming_transfer', 'source_jetton_wallet', 'Nullable(String)'), JSONExtract(a.details, 'dex_incoming_transfer', 'destination_jetton_wallet', 'Nullable(String)')) as wallet_in,
      toDecimal128OrNull(JSONExtract(a.details, 'dex_incoming_transfer', 'amount', 'Nullable(String)'), 0) as amount_in,
      coalesce(JSONExtract(a.details, 'asset_out', 'Nullable(String)'), JSONExtract(a.details, 'dex_outgoing_transfer', 'asset', 'Nullable(String)'), JSONExtract(a.details, 'peer_swaps', -1, 'asset_out', 'Nullable(String)')) as named_out,
      coalesce(JSONExtract(a.details, 'dex_outgoing_transfer', 'source_jetton_wallet', 'Nullable(String)'), JSONExtract(a.details, 'dex_outgoing_transfer', 'destination_jetton_wallet', 'Nullable(String)')) as wallet_out,
      toDecimal128OrNull(JSONExtract(a.details, 'dex_outgoing_transfer', 'amount', 'Nullable(String)'), 0) as amount_out,
      case when JSONExtract(a.details, 'dex_incoming_transfer', 'destination', 'Nullable(String)') like '%:%' then upper(JSONExtract(a.details, 'dex_incoming_transfer', 'destination', 'Nullable(String)')) else JSONExtract(a.details, 'dex_incoming_transfer', 'destination', 'Nullable(String)') end as paid_to,
      case when JSONExtract(a.details, 'dex_outgoing_transfer', 'source', 'Nullable(String)') like '%:%' then upper(JSONExtract(a.details, 'dex_outgoing_transfer', 'source', 'Nullable(String)')) else JSONExtract(a.details, 'dex_outgoing_transfer', 'source', 'Nullable(String)') end as paid_by
    from ton.actions a where a.type = 'jetton_swap') d) s
left join ton.ton_proxies i on i.address = s.asset_in
left join ton.ton_proxies o on o.address = s.asset_out
settings join_use_nulls = 1;

create or replace view etl.mints as
select a.utime, a.trace_id, a.action_id, a.asset as nft_address, JSONExtract(a.details, 'nft_item_index', 'Nullable(String)') as nft_index, a.collection_address,
  nullif(a.source, a.collection_address) as owner, a.success is false as is_aborted, a.start_lt, a.end_lt,
  coalesce(a.collection_address, '') = '0:B774D95EB20543F186C06B371AB88AD704F7E256130CAF96189368A7D0CB6CCF' as is_first_bid
from (
  select n.*, case when JSONExtract(n.details, 'nft_collection', 'Nullable(String)') like '%:%' then upper(JSONExtract(n.details, 'nft_collection', 'Nullable(String)')) else JSONExtract(n.details, 'nft_collection', 'Nullable(String)') end as collection_address from ton.actions n where n.type = 'nft_mint') a;

create or replace view ton.nft_ownership as
select h.nft_address as nft_address,
  case when h.kind = 'mint' then coalesce(lead(h.previous_owner) over w, case when lead(h.utime) over w is null then coalesce(i.real_owner, i.owner_address) end, h.owner) else h.owner end as owner,
  h.utime as since, lead(h.utime) over w as until, h.kind as kind, h.previous_owner as previous_owner, h.lt as lt, h.trace_id as trace_id
from (
  select t.nft_address, nullif(t.new_owner, '') as owner, t.utime, t.transaction_lt as lt, 'transfer' as kind,
    nullif(t.old_owner, '') as previous_owner, t.trace_id
  from ton.nft_transfers t where t.transaction_aborted is not true
  union all
  select m.nft_address, m.owner, m.utime, m.end_lt, 'mint', null, m.trace_id from etl.mints m where not m.is_aborted and not m.is_first_bid
  union all
  select a.asset, a.destination, a.utime, a.end_lt, 'sale', a.source, a.trace_id
  from ton.actions a where a.type in ('dns_purchase', 'nft_transfer') and a.amount is not null and (JSONExtract(a.details, 'real_old_owner', 'Nullable(String)')) is null and a.success is not false
) h
left join ton.nft_items i on i.address = h.nft_address and h.kind = 'mint'
window w as (partition by h.nft_address order by h.utime, h.lt)
settings join_use_nulls = 1;

create or replace view ton.validator_stakes as
select e.election_id, to_timestamp(case when e.election_id between 0 and 253402300799 then e.election_id end) as starts, e.validator_pubkey, e.stake_holder_address,
  (coalesce(sum(e.amount) filter (where e.type = 'stake_accepted'), 0)) as stake,
  count(*) filter (where e.type = 'stake_accepted') as accepted, count(*) filter (where e.type = 'stake_rejected') as rejected,
  min(e.utime) as first_at, max(e.utime) as last_at
from ton.validator_events e where e.election_id is not null
group by e.election_id, e.validator_pubkey, e.stake_holder_address;

create or replace view ton.validator_income as
select max(m.election_id) as election_id, to_timestamp(max(case when m.election_id between 0 and 253402300799 then m.election_id end)) as starts, m.stake_holder_address,
  count(m.election_id) as elections, (sum(m.stake)) as stake, (sum(m.returned)) as returned,
  (sum(m.returned) - sum(m.stake)) as reward,
  max(m.at) filter (where m.returned is not null) as returned_at
from (
  select x.*, count(x.returned) over (
    partition by x.stake_holder_address order by x.at desc, (x.returned is null), x.lt desc) as returns_from_here
  from (
    select s.stake_holder_address, s.election_id, s.stake, null::Nullable(Decimal(38, 0)) as returned, null::Nullable(Int64) as lt,
      coalesce(to_timestamp(case when e.successor between 0 and 253402300799 then e.successor end), toDateTime64('2299-12-31 00:00:00', 6, 'UTC')) as at
    from (
      select v.election_id, v.stake_holder_address, sum(v.amount) as stake from ton.validator_events v
      where v.type = 'stake_accepted' and v.election_id is not null group by 1, 2) s
    join (
      select v.election_id, lead(v.election_id) over (order by v.election_id) as successor from ton.validator_events v
      where v.type = 'stake_accepted' and v.election_id is not null group by 1) e on e.election_id = s.election_id
    union all
    select v.stake_holder_address, null, null, v.amount, v.tx_lt, v.utime from ton.validator_events v
    where v.type = 'stake_recovered') x) m
group by m.stake_holder_address, case when m.returns_from_here = 0 then -1 - m.election_id else m.returns_from_here::Nullable(Int64) end
having count(m.election_id) > 0;

create or replace view ton.nominator_pool_cycles as
select e.pool_address, e.validator_address, e.cycle_start,
  argMin(tuple(e.balance_before), tuple(e.utime, e.tx_lt)).1 as opening,
  (coalesce(sum(e.amount) filter (where e.type = 'reward'), 0)) as rewards,
  (coalesce(sum(e.amount) filter (where e.type = 'penalty'), 0)) as penalties,
  (coalesce(sum(e.amount) filter (where e.type = 'deposit'), 0)) as deposits,
  (coalesce(sum(e.amount) filter (where e.type = 'withdrawal'), 0)) as withdrawals,
  argMax(tuple(e.balance_after), tuple(e.utime, e.tx_lt)).1 as closing, count(*) as events
from (
  select x.pool_address, x.validator_address, x.utime, x.tx_lt, x.type, x.amount, x.balance_before, x.balance_after,
    max(x.cycle_start) over (partition by x.pool_address, x.validator_address order by x.utime, x.tx_lt) as cycle_start
  from ton.nominator_pool_events x) e
group by e.pool_address, e.validator_address, e.cycle_start;

use ton;
