-- What analysts call over a lake: functions of analyst.sql in the words of Spark 4 with Delta Lake. Its views follow.
-- Say first where the lake is: set lake=/data/lake;
create schema if not exists etl;

create schema if not exists ton;

-- Of the first 34 bytes of an address, as hex digits.
create or replace function etl.crc16(digits string) returns int return aggregate(
  transform(sequence(0, 33), place -> cast(conv(substr(digits, 2 * place + 1, 2), 16, 10) as int)), 0,
  (crc, byte) -> transform(transform(array((shiftright(crc, 8) ^ byte) & 255), x -> x ^ shiftright(x, 4)),
    x -> (shiftleft(crc, 8) ^ shiftleft(x, 12) ^ shiftleft(x, 5) ^ x) & 65535)[0]);

-- What is no friendly address is null: Spark decodes before it asks what form this is.
create or replace function etl.hex_of_friendly(word string) returns string return
  if(length(trim(word)) = 48, hex(try_to_binary(translate(trim(word), '-_', '+/'), 'base64')), null);

create or replace function etl.raw_of_hex(digits string) returns string return case
  when lpad(hex(etl.crc16(digits)), 4, '0') <> right(digits, 4) then raise_error('no address: its checksum is wrong')
  else concat(if(substr(digits, 3, 2) = 'FF', '-1', conv(substr(digits, 3, 2), 16, 10)), ':', substr(digits, 5, 64))
end;

create or replace function ton.ton_address(form string) returns string return case
  when form is null then null
  when trim(form) rlike '^-?[0-9]{1,10}:[0-9a-fA-F]{64}$' then concat(cast(split(trim(form), ':')[0] as int), ':', upper(split(form, ':')[1]))
  when trim(form) rlike '^[0-9a-fA-F]{64}$' then concat('0:', upper(trim(form)))
  else etl.raw_of_hex(etl.hex_of_friendly(form))
end;

create or replace function etl.friendly_bytes(raw string, bounceable boolean, testnet boolean) returns string return concat(
  lpad(hex(if(bounceable, 17, 81) + if(testnet, 128, 0)), 2, '0'),
  if(split(raw, ':')[0] = '-1', 'FF', lpad(hex(cast(split(raw, ':')[0] as int)), 2, '0')), split(raw, ':')[1]);

create or replace function etl.friendly_of_bytes(digits string) returns string return
  translate(base64(unhex(concat(digits, lpad(hex(etl.crc16(digits)), 4, '0')))), '+/', '-_');

create or replace function ton.ton_address_friendly(address string, bounceable boolean default true, testnet boolean default false)
returns string return etl.friendly_of_bytes(etl.friendly_bytes(ton.ton_address(address), bounceable, testnet));

create or replace function ton.ton_hash(form string) returns string return case
  when trim(form) rlike '^(0[xX])?[0-9a-fA-F]{64}$' then base64(unhex(right(trim(form), 64)))
  else concat(translate(left(trim(form), 43), '-_', '+/'), '=')
end;

create or replace function ton.hash_hex(hash string) returns string return lower(hex(unbase64(ton.ton_hash(hash))));

create or replace function ton.nano_to_ton(nanotons decimal(28,0)) returns decimal(38,9) return nanotons * 0.000000001BD;

create or replace view ton.account_messages as select * from delta.`${lake}/account_messages` where day = (select max(day) from delta.`${lake}/account_messages`);

create or replace view ton.account_state_changes as select * from delta.`${lake}/account_state_changes` where day = (select max(day) from delta.`${lake}/account_state_changes`);

create or replace view ton.account_states as select * from delta.`${lake}/account_states` where day = (select max(day) from delta.`${lake}/account_states`);

create or replace view ton.account_transactions as select * from delta.`${lake}/account_transactions` where day = (select max(day) from delta.`${lake}/account_transactions`);

create or replace view ton.action_accounts as select * from delta.`${lake}/action_accounts`;

create or replace view ton.action_transactions as select * from delta.`${lake}/action_transactions`;

create or replace view ton.actions as select * from delta.`${lake}/actions`;

create or replace view ton.address_book as select * from delta.`${lake}/address_book` where day = (select max(day) from delta.`${lake}/address_book`);

create or replace view ton.block_parents as select * from delta.`${lake}/block_parents`;

create or replace view ton.blocks as select * from delta.`${lake}/blocks`;

create or replace view ton.complaint_votes as select * from delta.`${lake}/complaint_votes`;

create or replace view ton.cycle_validators as select * from delta.`${lake}/cycle_validators`;

create or replace view ton.dns_auctions as select * from delta.`${lake}/dns_auctions` where day = (select max(day) from delta.`${lake}/dns_auctions`);

create or replace view ton.dns_records as select * from delta.`${lake}/dns_records` where day = (select max(day) from delta.`${lake}/dns_records`);

create or replace view ton.election_participants as select * from delta.`${lake}/election_participants`;

create or replace view ton.extended_account_states as select * from delta.`${lake}/extended_account_states` where day = (select max(day) from delta.`${lake}/extended_account_states`);

create or replace view ton.jetton_burns as select * from delta.`${lake}/jetton_burns`;

create or replace view ton.jetton_descriptions as select * from delta.`${lake}/jetton_descriptions` where day = (select max(day) from delta.`${lake}/jetton_descriptions`);

create or replace view ton.jetton_masters as select * from delta.`${lake}/jetton_masters` where day = (select max(day) from delta.`${lake}/jetton_masters`);

create or replace view ton.jetton_transfers as select * from delta.`${lake}/jetton_transfers`;

create or replace view ton.jetton_wallets as select * from delta.`${lake}/jetton_wallets` where day = (select max(day) from delta.`${lake}/jetton_wallets`);

create or replace view ton.masterchain_heads as select * from delta.`${lake}/masterchain_heads` where day = (select max(day) from delta.`${lake}/masterchain_heads`);

create or replace view ton.message_locations as select * from delta.`${lake}/message_locations` where day = (select max(day) from delta.`${lake}/message_locations`);

create or replace view ton.messages as select * from delta.`${lake}/messages`;

create or replace view ton.multisig_order_actions as select * from delta.`${lake}/multisig_order_actions` where day = (select max(day) from delta.`${lake}/multisig_order_actions`);

create or replace view ton.multisig_orders as select * from delta.`${lake}/multisig_orders` where day = (select max(day) from delta.`${lake}/multisig_orders`);

create or replace view ton.multisig_wallets as select * from delta.`${lake}/multisig_wallets` where day = (select max(day) from delta.`${lake}/multisig_wallets`);

create or replace view ton.nft_collections as select * from delta.`${lake}/nft_collections` where day = (select max(day) from delta.`${lake}/nft_collections`);

create or replace view ton.nft_descriptions as select * from delta.`${lake}/nft_descriptions` where day = (select max(day) from delta.`${lake}/nft_descriptions`);

create or replace view ton.nft_items as select * from delta.`${lake}/nft_items` where day = (select max(day) from delta.`${lake}/nft_items`);

create or replace view ton.nft_sales as select * from delta.`${lake}/nft_sales` where day = (select max(day) from delta.`${lake}/nft_sales`);

create or replace view ton.nft_transfers as select * from delta.`${lake}/nft_transfers`;

create or replace view ton.nominator_events as select * from delta.`${lake}/nominator_events`;

create or replace view ton.nominator_pool_events as select * from delta.`${lake}/nominator_pool_events`;

create or replace view ton.nominator_pools as select * from delta.`${lake}/nominator_pools` where day = (select max(day) from delta.`${lake}/nominator_pools`);

create or replace view ton.shard_block_proofs as select * from delta.`${lake}/shard_block_proofs` where day = (select max(day) from delta.`${lake}/shard_block_proofs`);

create or replace view ton.shard_states as select * from delta.`${lake}/shard_states`;

create or replace view ton.token_metadata as select * from delta.`${lake}/token_metadata` where day = (select max(day) from delta.`${lake}/token_metadata`);

create or replace view ton.top_accounts as select * from delta.`${lake}/top_accounts` where day = (select max(day) from delta.`${lake}/top_accounts`);

create or replace view ton.trace_nodes as select * from delta.`${lake}/trace_nodes`;

create or replace view ton.traces as select * from delta.`${lake}/traces`;

create or replace view ton.transactions as select * from delta.`${lake}/transactions`;

create or replace view ton.validator_complaints as select * from delta.`${lake}/validator_complaints`;

create or replace view ton.validator_cycles as select * from delta.`${lake}/validator_cycles`;

create or replace view ton.validator_elections as select * from delta.`${lake}/validator_elections`;

create or replace view ton.validator_events as select * from delta.`${lake}/validator_events`;

create or replace view ton.vesting_contracts as select * from delta.`${lake}/vesting_contracts` where day = (select max(day) from delta.`${lake}/vesting_contracts`);

create or replace view ton.days as
select day, cast(day as timestamp) as starts, cast(day + interval 1 day as timestamp) as ends from (select distinct day from ton.blocks);

create or replace view etl.open_days as
select r.relation, d.day, d.starts, d.ends from ton.days d cross join (values ('daily_activity'), ('hourly_activity'), ('active_wallets'), ('fees_by_part'), ('failed_transactions'), ('gas_by_contract'), ('jetton_flows'), ('dex_volume')) as r (relation);

create or replace view etl.open_daily_activity as
select d.day, t.transactions, t.aborted, t.accounts, m.messages, m.value, t.fees, c.traces, b.blocks, t.bounced
from etl.open_days d,
lateral (
  select count(*) as transactions, count(*) filter (where x.aborted) as aborted, count(distinct x.account) as accounts,
    (sum(x.total_fees)) as fees, count(*) filter (where x.aborted and x.bounce_type = 'ok') as bounced
  from ton.transactions x where to_date(x.utime) = d.day having count(*) > 0) t,
lateral (
  select count(*) as messages, (sum(x.value)) as value
  from ton.messages x where to_date(x.utime) = d.day) m,
lateral (select count(*) as traces from ton.traces x where to_date(x.utime) = d.day) c,
lateral (select count(*) as blocks from ton.blocks x where to_date(x.utime) = d.day) b
where d.relation = 'daily_activity';

create or replace view etl.open_hourly_activity as
select d.day, t.hour, t.transactions, t.aborted, t.accounts, t.fees
from etl.open_days d,
lateral (
  select date_trunc('hour', x.utime) as hour, count(*) as transactions, count(*) filter (where x.aborted) as aborted,
    count(distinct x.account) as accounts, (sum(x.total_fees)) as fees
  from ton.transactions x where to_date(x.utime) = d.day group by 1) t
where d.relation = 'hourly_activity';

create or replace view etl.open_active_wallets as
select d.day, m.wallets, m.messages
from etl.open_days d,
lateral (
  select count(distinct x.destination) as wallets, count(*) as messages
  from ton.messages x
  where to_date(x.utime) = d.day and x.source is null and x.destination is not null having count(*) > 0) m
where d.relation = 'active_wallets';

create or replace view etl.open_fees_by_part as
select d.day, (f.storage) as storage, (f.gas) as gas, (f.action) as action, (f.bounce) as bounce,
  (f.total - f.storage - f.gas - f.action - f.bounce) as import, (f.total) as total, (m.forward) as forward
from etl.open_days d,
lateral (
  select coalesce(sum(x.storage_fees_collected), 0) + coalesce(sum(x.credit_due_fees_collected), 0) as storage,
    coalesce(sum(x.compute_gas_fees), 0) as gas, coalesce(sum(x.action_total_action_fees), 0) as action,
    coalesce(sum(x.bounce_msg_fees), 0) as bounce, sum(x.total_fees) as total
  from ton.transactions x where to_date(x.utime) = d.day having count(*) > 0) f,
lateral (
  select coalesce(sum(x.fwd_fee + x.ihr_fee), 0) as forward
  from ton.messages x where to_date(x.utime) = d.day and x.out_msg_tx_hash is not null) m
where d.relation = 'fees_by_part';

create or replace view etl.open_failed_transactions as
select d.day, f.phase, f.reason, f.code, f.transactions, f.accounts, f.fees, f.bounced
from etl.open_days d,
lateral (
  select x.phase, x.reason, x.code, count(*) as transactions, count(distinct x.account) as accounts, (sum(x.total_fees)) as fees,
    count(*) filter (where x.bounce_type = 'ok') as bounced
  from (
    select t.account, t.total_fees, t.bounce_type,
      case when t.compute_skipped then 'skipped' when t.compute_success is false then 'compute'
        when t.action_success is false then 'action' else 'other' end as phase,
      case when t.compute_skipped then t.compute_reason end as reason,
      case when t.compute_skipped then null when t.compute_success is false then t.compute_exit_code
        when t.action_success is false then t.action_result_code end as code
    from ton.transactions t where to_date(t.utime) = d.day and t.aborted) x
  group by x.phase, x.reason, x.code) f
where d.relation = 'failed_transactions';

create or replace view etl.open_gas_by_contract as
select d.day, g.account, g.code_hash, g.runs, g.failed, g.gas_used, g.gas_fees
from etl.open_days d,
lateral (
  select x.account, max_by(x.after_code_hash, struct(coalesce(x.after_code_hash<>'',false), x.lt)) as code_hash, count(*) as runs, count(*) filter (where not x.compute_success) as failed,
    (sum(x.compute_gas_used)) as gas_used, (sum(x.compute_gas_fees)) as gas_fees
  from ton.transactions x where to_date(x.utime) = d.day and x.compute_gas_used is not null
  group by x.account) g
where d.relation = 'gas_by_contract';

create or replace view ton.ton_proxies as
select '0:8CDC1D7640AD5EE326527FC1AD0514F468B30DC84B0173F0E155F451B4E11F7C' as address, 'stonfi' as dex, 'Proxy TON of STON.fi v1' as note
union all
select '0:671963027F7F85659AB55B821671688601CDCF1EE674FC7FBBB1A776A18D34A3', 'stonfi_v2', 'Proxy TON of STON.fi v2'
union all
select '0:949C4C66760C002800E2FA3D8A3CA4E1C90A9373B53AE7472033483BF14CD95E', 'tonco', 'Proxy TON of TONCO'
union all
select '0:D0A1CE4CDC187C79615EA618BD6C29617AF7A56D966F5A192A768F345EE63FD2', null, 'Wrapped TON';

create or replace view ton.jetton_mints as
select m.utime, m.created_lt as lt, m.hash as message_hash, m.source as jetton_master, m.destination as jetton_wallet, w.owner,
  try_cast(get_json_object(m.content_decoded, '$.amount.value') as decimal(38,0)) as amount, try_cast(get_json_object(m.content_decoded, '$.query_id') as decimal(38,0)) as query_id,
  m.out_msg_tx_hash as tx_hash
from ton.jetton_wallets w
join ton.messages m on m.source = w.jetton and m.destination = w.address
where m.opcode = '0x178d4519'
  and case when m.source = w.jetton then (select bool_or(x.aborted) from ton.transactions x
      where x.account = m.destination and x.in_msg_utime = m.utime and x.in_msg_hash = m.hash) is not true end
union all
select m.utime, m.created_lt, m.hash, m.source, m.destination, case when w.jetton is null then (
    select max(r.source) from ton.transactions s join ton.messages r on r.utime = s.in_msg_utime and r.hash = s.in_msg_hash
    where s.account = m.destination and s.aborted is not true and r.opcode in ('0x0f8a7ea5', '0x595f07bc')) end,
  try_cast(get_json_object(m.content_decoded, '$.amount.value') as decimal(38,0)), try_cast(get_json_object(m.content_decoded, '$.query_id') as decimal(38,0)), m.out_msg_tx_hash
from ton.messages m
left join ton.jetton_wallets w on w.address = m.destination
where m.opcode = '0x178d4519' and w.jetton is null
  and case when w.jetton is null then (
      select max(coalesce(r.opcode, '')) from ton.transactions s
      left join ton.messages r on r.utime = s.in_msg_utime and r.hash = s.in_msg_hash
      where s.utime = m.utime and s.hash = m.out_msg_tx_hash) <> '0x0f8a7ea5'
    and (select bool_or(x.aborted) from ton.transactions x
      where x.account = m.destination and x.in_msg_utime = m.utime and x.in_msg_hash = m.hash) is not true end;

create or replace view etl.refused_transfers as
select i.utime, i.out_msg_tx_hash as transaction_hash, b.destination as source_wallet, b.utime as refused_at
from ton.messages b
join ton.transactions x on x.utime = b.utime and x.hash = b.out_msg_tx_hash
join ton.messages i on i.utime = x.in_msg_utime and i.hash = x.in_msg_hash
where b.bounced and i.opcode = '0x178d4519';

create or replace view etl.transfers as
select t.utime, t.transaction_lt, t.transaction_hash, t.trace_id, t.source, t.destination, t.source_wallet, t.jetton_master, t.amount,
  t.query_id, t.comment, t.response_destination, t.forward_ton_amount,
  coalesce(t.transaction_aborted, false) or (
    select count(*) from etl.refused_transfers r where r.source_wallet = t.source_wallet and r.transaction_hash = t.transaction_hash) > 0 as is_aborted
from ton.jetton_transfers t;

create or replace view ton.jetton_movements as
select j.account, j.utime, j.lt, j.step, j.jetton_master, j.kind, j.amount as amount, j.counterparty, j.tx_hash
from (
  select t.source as account, t.utime, t.transaction_lt as lt, 0 as step, t.jetton_master, 'sent' as kind, -t.amount as amount,
    t.destination as counterparty, t.transaction_hash as tx_hash
  from etl.transfers t where t.source <> '' and not t.is_aborted
  union all
  select t.destination, t.utime, t.transaction_lt, 1, t.jetton_master, 'received', t.amount, t.source, t.transaction_hash
  from etl.transfers t where t.destination <> '' and not t.is_aborted
  union all
  select b.owner, b.utime, b.transaction_lt, 0, b.jetton_master, 'burned', -b.amount, null, b.transaction_hash
  from ton.jetton_burns b where b.owner <> '' and b.transaction_aborted is not true
  union all
  select m.owner, m.utime, m.lt, 2, m.jetton_master, 'minted', m.amount, null, m.tx_hash
  from ton.jetton_mints m) j
where not exists (select 1 from ton.ton_proxies p where p.address = j.jetton_master);

create or replace view etl.open_jetton_flows as
select d.day, j.jetton_master, j.transfers, j.senders, j.receivers, (j.amount) as amount, (j.minted) as minted, (j.burned) as burned
from etl.open_days d,
lateral (
  select m.jetton_master, count(*) filter (where m.kind = 'sent') as transfers,
    count(distinct m.account) filter (where m.kind = 'sent') as senders,
    count(distinct m.account) filter (where m.kind = 'received') as receivers,
    coalesce(sum(m.amount) filter (where m.kind = 'received'), 0) as amount,
    coalesce(sum(m.amount) filter (where m.kind = 'minted'), 0) as minted,
    coalesce(-sum(m.amount) filter (where m.kind = 'burned'), 0) as burned
  from ton.jetton_movements m where to_date(m.utime) = d.day
  group by m.jetton_master) j
where d.relation = 'jetton_flows';

create or replace view ton.swaps as
select s.utime, s.trace_id, s.action_id, s.start_utime, s.account, s.dex, s.success,
  case when i.address is not null then 'TON' else s.asset_in end as asset_in, s.amount_in as amount_in,
  case when o.address is not null then 'TON' else s.asset_out end as asset_out, s.amount_out as amount_out,
  case when i.address is not null or s.asset_in = 'TON' then s.paid_by else s.paid_to end as pool
from (
  select d.utime, d.trace_id, d.action_id, d.start_utime, d.account, d.dex, d.success, d.paid_to, d.paid_by, d.amount_in, d.amount_out,
    case when d.named_in is not null then case when d.named_in like '%:%' then upper(d.named_in) else d.named_in end when d.amount_in::string is not null and (d.dex in ('stonfi_v2', 'tonco') or d.dex <> 'stonfi' and d.wallet_in is null) then 'TON' end as asset_in,
    case when d.named_out is not null then case when d.named_out like '%:%' then upper(d.named_out) else d.named_out end when d.amount_out::string is not null and (d.dex in ('stonfi_v2', 'tonco') or d.dex <> 'stonfi' and d.wallet_out is null) then 'TON' end as asset_out
  from (
    select a.utime, a.trace_id, a.action_id, a.start_utime, a.source as account, get_json_object(a.details, '$.dex') as dex, a.success,
      coalesce(get_json_object(a.details, '$.asset_in'), get_json_object(a.details, '$.dex_incoming_transfer.asset'), get_json_object(a.details, '$.peer_swaps[0].asset_in')) as named_in,
      coalesce(get_json_object(a.details, '$.dex_incoming_transfer.source_jetton_wallet'), get_json_object(a.details, '$.dex_incoming_transfer.destination_jetton_wallet')) as wallet_in,
      try_cast(get_json_object(a.details, '$.dex_incoming_transfer.amount') as decimal(38,0)) as amount_in,
      coalesce(get_json_object(a.details, '$.asset_out'), get_json_object(a.details, '$.dex_outgoing_transfer.asset'), try_element_at(from_json(get_json_object(a.details, '$.peer_swaps'), 'array<struct<asset_out:string>>'), -1).asset_out) as named_out,
      coalesce(get_json_object(a.details, '$.dex_outgoing_transfer.source_jetton_wallet'), get_json_object(a.details, '$.dex_outgoing_transfer.destination_jetton_wallet')) as wallet_out,
      try_cast(get_json_object(a.details, '$.dex_outgoing_transfer.amount') as decimal(38,0)) as amount_out,
      case when get_json_object(a.details, '$.dex_incoming_transfer.destination') like '%:%' then upper(get_json_object(a.details, '$.dex_incoming_transfer.destination')) else get_json_object(a.details, '$.dex_incoming_transfer.destination') end as paid_to,
      case when get_json_object(a.details, '$.dex_outgoing_transfer.source') like '%:%' then upper(get_json_object(a.details, '$.dex_outgoing_transfer.source')) else get_json_object(a.details, '$.dex_outgoing_transfer.source') end as paid_by
    from ton.actions a where a.type = 'jetton_swap') d) s
left join ton.ton_proxies i on i.address = s.asset_in
left join ton.ton_proxies o on o.address = s.asset_out;

create or replace view etl.open_dex_volume as
select d.day, s.dex, s.pool, s.jetton_master, s.swaps, s.accounts, (s.bought) as bought, (s.sold) as sold,
  (s.volume) as volume, (s.jettons) as jettons
from etl.open_days d,
lateral (
  select x.dex, x.pool, t.jetton_master, count(*) as swaps, count(distinct x.account) as accounts,
    coalesce(sum(t.bought), 0) as bought, coalesce(sum(t.sold), 0) as sold,
    sum(coalesce(t.bought, t.sold)) as volume, sum(t.jettons) as jettons
  from ton.swaps x, lateral (
    select x.asset_out as jetton_master, x.amount_in as bought, null::decimal(38,0) as sold, x.amount_out as jettons
    where x.asset_in = 'TON' and x.asset_out <> 'TON'
    union all
    select x.asset_in, null, x.amount_out, x.amount_in where x.asset_out = 'TON' and x.asset_in <> 'TON') t
  where to_date(x.utime) = d.day and x.success is not false
  group by 1, 2, 3) s
where d.relation = 'dex_volume';

create or replace view etl.mints as
select a.utime, a.trace_id, a.action_id, a.asset as nft_address, get_json_object(a.details, '$.nft_item_index') as nft_index, a.collection_address,
  nullif(a.source, a.collection_address) as owner, a.success is false as is_aborted, a.start_lt, a.end_lt,
  coalesce(a.collection_address, '') = '0:B774D95EB20543F186C06B371AB88AD704F7E256130CAF96189368A7D0CB6CCF' as is_first_bid
from (
  select n.*, case when get_json_object(n.details, '$.nft_collection') like '%:%' then upper(get_json_object(n.details, '$.nft_collection')) else get_json_object(n.details, '$.nft_collection') end as collection_address from ton.actions n where n.type = 'nft_mint') a;

create or replace view ton.nft_ownership as
select h.nft_address,
  case when h.kind = 'mint' then coalesce(lead(h.previous_owner) over w, case when lead(h.utime) over w is null then coalesce(i.real_owner, i.owner_address) end, h.owner) else h.owner end as owner,
  h.utime as since, lead(h.utime) over w as until, h.kind, h.previous_owner, h.lt, h.trace_id
from (
  select t.nft_address, nullif(t.new_owner, '') as owner, t.utime, t.transaction_lt as lt, 'transfer' as kind,
    nullif(t.old_owner, '') as previous_owner, t.trace_id
  from ton.nft_transfers t where t.transaction_aborted is not true
  union all
  select m.nft_address, m.owner, m.utime, m.end_lt, 'mint', null, m.trace_id from etl.mints m where not m.is_aborted and not m.is_first_bid
  union all
  select a.asset, a.destination, a.utime, a.end_lt, 'sale', a.source, a.trace_id
  from ton.actions a where a.type in ('dns_purchase', 'nft_transfer') and a.amount is not null and (get_json_object(a.details, '$.real_old_owner')) is null and a.success is not false
) h
left join ton.nft_items i on i.address = h.nft_address and h.kind = 'mint'
window w as (partition by h.nft_address order by h.utime, h.lt);

create or replace view ton.validator_stakes as
select e.election_id, timestamp_seconds(case when e.election_id between 0 and 253402300799 then e.election_id end) as starts, e.validator_pubkey, e.stake_holder_address,
  (coalesce(sum(e.amount) filter (where e.type = 'stake_accepted'), 0)) as stake,
  count(*) filter (where e.type = 'stake_accepted') as accepted, count(*) filter (where e.type = 'stake_rejected') as rejected,
  min(e.utime) as first_at, max(e.utime) as last_at
from ton.validator_events e where e.election_id is not null
group by e.election_id, e.validator_pubkey, e.stake_holder_address;

create or replace view ton.validator_income as
select max(m.election_id) as election_id, timestamp_seconds(max(case when m.election_id between 0 and 253402300799 then m.election_id end)) as starts, m.stake_holder_address,
  count(m.election_id) as elections, (sum(m.stake)) as stake, (sum(m.returned)) as returned,
  (sum(m.returned) - sum(m.stake)) as reward,
  max(m.at) filter (where m.returned is not null) as returned_at
from (
  select x.*, count(x.returned) over (
    partition by x.stake_holder_address order by x.at desc, (x.returned is null), x.lt desc) as returns_from_here
  from (
    select s.stake_holder_address, s.election_id, s.stake, null::decimal(38,0) as returned, null::bigint as lt,
      coalesce(timestamp_seconds(case when e.successor between 0 and 253402300799 then e.successor end), timestamp'9999-12-31 00:00:00Z') as at
    from (
      select v.election_id, v.stake_holder_address, sum(v.amount) as stake from ton.validator_events v
      where v.type = 'stake_accepted' and v.election_id is not null group by 1, 2) s
    join (
      select v.election_id, lead(v.election_id) over (order by v.election_id) as successor from ton.validator_events v
      where v.type = 'stake_accepted' and v.election_id is not null group by 1) e on e.election_id = s.election_id
    union all
    select v.stake_holder_address, null, null, v.amount, v.tx_lt, v.utime from ton.validator_events v
    where v.type = 'stake_recovered') x) m
group by m.stake_holder_address, case when m.returns_from_here = 0 then -1 - m.election_id else m.returns_from_here::bigint end
having count(m.election_id) > 0;

create or replace view ton.complaints as
select c.utime, c.election_id, c.complaint_hash, c.validator_pubkey, c.stake_holder_address, c.severity, c.suggested_fine, c.is_passed,
  c.approved_percent, v.votes, v.weight, v.voters
from ton.validator_complaints c,
lateral (
  select count(*) as votes, (coalesce(sum(x.weight), 0)) as weight, nullif(transform(array_sort(collect_list(struct(x.position as place, x.validator_index as value))), one -> one.value), array()) as voters
  from ton.complaint_votes x
  where x.utime = c.utime and x.election_id = c.election_id and x.complaint_hash = c.complaint_hash) v;

create or replace view ton.nominator_pool_cycles as
select e.pool_address, e.validator_address, e.cycle_start,
  min_by(e.balance_before, struct(e.utime, e.tx_lt)) as opening,
  (coalesce(sum(e.amount) filter (where e.type = 'reward'), 0)) as rewards,
  (coalesce(sum(e.amount) filter (where e.type = 'penalty'), 0)) as penalties,
  (coalesce(sum(e.amount) filter (where e.type = 'deposit'), 0)) as deposits,
  (coalesce(sum(e.amount) filter (where e.type = 'withdrawal'), 0)) as withdrawals,
  max_by(e.balance_after, struct(e.utime, e.tx_lt)) as closing, count(*) as events
from (
  select x.pool_address, x.validator_address, x.utime, x.tx_lt, x.type, x.amount, x.balance_before, x.balance_after,
    max(x.cycle_start) over (partition by x.pool_address, x.validator_address order by x.utime, x.tx_lt) as cycle_start
  from ton.nominator_pool_events x) e
group by e.pool_address, e.validator_address, e.cycle_start;

create or replace view ton.daily_activity as select *, false as certified from etl.open_daily_activity;

create or replace view ton.hourly_activity as select *, false as certified from etl.open_hourly_activity;

create or replace view ton.active_wallets as select *, false as certified from etl.open_active_wallets;

create or replace view ton.fees_by_part as select *, false as certified from etl.open_fees_by_part;

create or replace view ton.failed_transactions as select *, false as certified from etl.open_failed_transactions;

create or replace view ton.gas_by_contract as select *, false as certified from etl.open_gas_by_contract;

create or replace view ton.jetton_flows as select *, false as certified from etl.open_jetton_flows;

create or replace view ton.dex_volume as select *, false as certified from etl.open_dex_volume;

use ton;
