-- A lake for Trino, for a catalog delta of the connector delta_lake whose local.location has it in the folder lake.
create schema if not exists delta.lake;

create schema if not exists delta.ton;

create schema if not exists delta.etl;

call delta.system.register_table(schema_name => 'lake', table_name => 'account_messages', table_location => 'local:///lake/account_messages');

create or replace view delta.ton.account_messages as select * from delta.lake.account_messages where day = (select max(day) from delta.lake.account_messages);

call delta.system.register_table(schema_name => 'lake', table_name => 'account_state_changes', table_location => 'local:///lake/account_state_changes');

create or replace view delta.ton.account_state_changes as select * from delta.lake.account_state_changes where day = (select max(day) from delta.lake.account_state_changes);

call delta.system.register_table(schema_name => 'lake', table_name => 'account_states', table_location => 'local:///lake/account_states');

create or replace view delta.ton.account_states as select * from delta.lake.account_states where day = (select max(day) from delta.lake.account_states);

call delta.system.register_table(schema_name => 'lake', table_name => 'account_transactions', table_location => 'local:///lake/account_transactions');

create or replace view delta.ton.account_transactions as select * from delta.lake.account_transactions where day = (select max(day) from delta.lake.account_transactions);

call delta.system.register_table(schema_name => 'lake', table_name => 'action_accounts', table_location => 'local:///lake/action_accounts');

create or replace view delta.ton.action_accounts as select * from delta.lake.action_accounts;

call delta.system.register_table(schema_name => 'lake', table_name => 'action_transactions', table_location => 'local:///lake/action_transactions');

create or replace view delta.ton.action_transactions as select * from delta.lake.action_transactions;

call delta.system.register_table(schema_name => 'lake', table_name => 'actions', table_location => 'local:///lake/actions');

create or replace view delta.ton.actions as select * from delta.lake.actions;

call delta.system.register_table(schema_name => 'lake', table_name => 'address_book', table_location => 'local:///lake/address_book');

create or replace view delta.ton.address_book as select * from delta.lake.address_book where day = (select max(day) from delta.lake.address_book);

call delta.system.register_table(schema_name => 'lake', table_name => 'block_parents', table_location => 'local:///lake/block_parents');

create or replace view delta.ton.block_parents as select * from delta.lake.block_parents;

call delta.system.register_table(schema_name => 'lake', table_name => 'blocks', table_location => 'local:///lake/blocks');

create or replace view delta.ton.blocks as select * from delta.lake.blocks;

call delta.system.register_table(schema_name => 'lake', table_name => 'complaint_votes', table_location => 'local:///lake/complaint_votes');

create or replace view delta.ton.complaint_votes as select * from delta.lake.complaint_votes;

call delta.system.register_table(schema_name => 'lake', table_name => 'cycle_validators', table_location => 'local:///lake/cycle_validators');

create or replace view delta.ton.cycle_validators as select * from delta.lake.cycle_validators;

call delta.system.register_table(schema_name => 'lake', table_name => 'dns_auctions', table_location => 'local:///lake/dns_auctions');

create or replace view delta.ton.dns_auctions as select * from delta.lake.dns_auctions where day = (select max(day) from delta.lake.dns_auctions);

call delta.system.register_table(schema_name => 'lake', table_name => 'dns_records', table_location => 'local:///lake/dns_records');

create or replace view delta.ton.dns_records as select * from delta.lake.dns_records where day = (select max(day) from delta.lake.dns_records);

call delta.system.register_table(schema_name => 'lake', table_name => 'election_participants', table_location => 'local:///lake/election_participants');

create or replace view delta.ton.election_participants as select * from delta.lake.election_participants;

call delta.system.register_table(schema_name => 'lake', table_name => 'extended_account_states', table_location => 'local:///lake/extended_account_states');

create or replace view delta.ton.extended_account_states as select * from delta.lake.extended_account_states where day = (select max(day) from delta.lake.extended_account_states);

call delta.system.register_table(schema_name => 'lake', table_name => 'jetton_burns', table_location => 'local:///lake/jetton_burns');

create or replace view delta.ton.jetton_burns as select * from delta.lake.jetton_burns;

call delta.system.register_table(schema_name => 'lake', table_name => 'jetton_descriptions', table_location => 'local:///lake/jetton_descriptions');

create or replace view delta.ton.jetton_descriptions as select * from delta.lake.jetton_descriptions where day = (select max(day) from delta.lake.jetton_descriptions);

call delta.system.register_table(schema_name => 'lake', table_name => 'jetton_masters', table_location => 'local:///lake/jetton_masters');

create or replace view delta.ton.jetton_masters as select * from delta.lake.jetton_masters where day = (select max(day) from delta.lake.jetton_masters);

call delta.system.register_table(schema_name => 'lake', table_name => 'jetton_transfers', table_location => 'local:///lake/jetton_transfers');

create or replace view delta.ton.jetton_transfers as select * from delta.lake.jetton_transfers;

call delta.system.register_table(schema_name => 'lake', table_name => 'jetton_wallets', table_location => 'local:///lake/jetton_wallets');

create or replace view delta.ton.jetton_wallets as select * from delta.lake.jetton_wallets where day = (select max(day) from delta.lake.jetton_wallets);

call delta.system.register_table(schema_name => 'lake', table_name => 'masterchain_heads', table_location => 'local:///lake/masterchain_heads');

create or replace view delta.ton.masterchain_heads as select * from delta.lake.masterchain_heads where day = (select max(day) from delta.lake.masterchain_heads);

call delta.system.register_table(schema_name => 'lake', table_name => 'message_locations', table_location => 'local:///lake/message_locations');

create or replace view delta.ton.message_locations as select * from delta.lake.message_locations where day = (select max(day) from delta.lake.message_locations);

call delta.system.register_table(schema_name => 'lake', table_name => 'messages', table_location => 'local:///lake/messages');

create or replace view delta.ton.messages as select * from delta.lake.messages;

call delta.system.register_table(schema_name => 'lake', table_name => 'multisig_order_actions', table_location => 'local:///lake/multisig_order_actions');

create or replace view delta.ton.multisig_order_actions as select * from delta.lake.multisig_order_actions where day = (select max(day) from delta.lake.multisig_order_actions);

call delta.system.register_table(schema_name => 'lake', table_name => 'multisig_orders', table_location => 'local:///lake/multisig_orders');

create or replace view delta.ton.multisig_orders as select * from delta.lake.multisig_orders where day = (select max(day) from delta.lake.multisig_orders);

call delta.system.register_table(schema_name => 'lake', table_name => 'multisig_wallets', table_location => 'local:///lake/multisig_wallets');

create or replace view delta.ton.multisig_wallets as select * from delta.lake.multisig_wallets where day = (select max(day) from delta.lake.multisig_wallets);

call delta.system.register_table(schema_name => 'lake', table_name => 'nft_collections', table_location => 'local:///lake/nft_collections');

create or replace view delta.ton.nft_collections as select * from delta.lake.nft_collections where day = (select max(day) from delta.lake.nft_collections);

call delta.system.register_table(schema_name => 'lake', table_name => 'nft_descriptions', table_location => 'local:///lake/nft_descriptions');

create or replace view delta.ton.nft_descriptions as select * from delta.lake.nft_descriptions where day = (select max(day) from delta.lake.nft_descriptions);

call delta.system.register_table(schema_name => 'lake', table_name => 'nft_items', table_location => 'local:///lake/nft_items');

create or replace view delta.ton.nft_items as select * from delta.lake.nft_items where day = (select max(day) from delta.lake.nft_items);

call delta.system.register_table(schema_name => 'lake', table_name => 'nft_sales', table_location => 'local:///lake/nft_sales');

create or replace view delta.ton.nft_sales as select * from delta.lake.nft_sales where day = (select max(day) from delta.lake.nft_sales);

call delta.system.register_table(schema_name => 'lake', table_name => 'nft_transfers', table_location => 'local:///lake/nft_transfers');

create or replace view delta.ton.nft_transfers as select * from delta.lake.nft_transfers;

call delta.system.register_table(schema_name => 'lake', table_name => 'nominator_events', table_location => 'local:///lake/nominator_events');

create or replace view delta.ton.nominator_events as select * from delta.lake.nominator_events;

call delta.system.register_table(schema_name => 'lake', table_name => 'nominator_pool_events', table_location => 'local:///lake/nominator_pool_events');

create or replace view delta.ton.nominator_pool_events as select * from delta.lake.nominator_pool_events;

call delta.system.register_table(schema_name => 'lake', table_name => 'nominator_pools', table_location => 'local:///lake/nominator_pools');

create or replace view delta.ton.nominator_pools as select * from delta.lake.nominator_pools where day = (select max(day) from delta.lake.nominator_pools);

call delta.system.register_table(schema_name => 'lake', table_name => 'shard_block_proofs', table_location => 'local:///lake/shard_block_proofs');

create or replace view delta.ton.shard_block_proofs as select * from delta.lake.shard_block_proofs where day = (select max(day) from delta.lake.shard_block_proofs);

call delta.system.register_table(schema_name => 'lake', table_name => 'shard_states', table_location => 'local:///lake/shard_states');

create or replace view delta.ton.shard_states as select * from delta.lake.shard_states;

call delta.system.register_table(schema_name => 'lake', table_name => 'token_metadata', table_location => 'local:///lake/token_metadata');

create or replace view delta.ton.token_metadata as select * from delta.lake.token_metadata where day = (select max(day) from delta.lake.token_metadata);

call delta.system.register_table(schema_name => 'lake', table_name => 'top_accounts', table_location => 'local:///lake/top_accounts');

create or replace view delta.ton.top_accounts as select * from delta.lake.top_accounts where day = (select max(day) from delta.lake.top_accounts);

call delta.system.register_table(schema_name => 'lake', table_name => 'trace_nodes', table_location => 'local:///lake/trace_nodes');

create or replace view delta.ton.trace_nodes as select * from delta.lake.trace_nodes;

call delta.system.register_table(schema_name => 'lake', table_name => 'traces', table_location => 'local:///lake/traces');

create or replace view delta.ton.traces as select * from delta.lake.traces;

call delta.system.register_table(schema_name => 'lake', table_name => 'transactions', table_location => 'local:///lake/transactions');

create or replace view delta.ton.transactions as select * from delta.lake.transactions;

call delta.system.register_table(schema_name => 'lake', table_name => 'validator_complaints', table_location => 'local:///lake/validator_complaints');

create or replace view delta.ton.validator_complaints as select * from delta.lake.validator_complaints;

call delta.system.register_table(schema_name => 'lake', table_name => 'validator_cycles', table_location => 'local:///lake/validator_cycles');

create or replace view delta.ton.validator_cycles as select * from delta.lake.validator_cycles;

call delta.system.register_table(schema_name => 'lake', table_name => 'validator_elections', table_location => 'local:///lake/validator_elections');

create or replace view delta.ton.validator_elections as select * from delta.lake.validator_elections;

call delta.system.register_table(schema_name => 'lake', table_name => 'validator_events', table_location => 'local:///lake/validator_events');

create or replace view delta.ton.validator_events as select * from delta.lake.validator_events;

call delta.system.register_table(schema_name => 'lake', table_name => 'vesting_contracts', table_location => 'local:///lake/vesting_contracts');

create or replace view delta.ton.vesting_contracts as select * from delta.lake.vesting_contracts where day = (select max(day) from delta.lake.vesting_contracts);

create or replace view delta.ton.days as
select day, cast(day as timestamp) at time zone 'UTC' as starts, cast(day + interval '1' day as timestamp) at time zone 'UTC' as ends from (select distinct day from delta.ton.blocks);

create or replace view delta.ton.open_days as
select r.relation, d.day, d.starts, d.ends from delta.ton.days d cross join (values 'hourly_activity', 'failed_transactions', 'gas_by_contract', 'jetton_flows') as r (relation);

create or replace view delta.ton.hourly_activity as
select d.day, t.hour, t.transactions, t.aborted, t.accounts, t.fees
from delta.ton.open_days d,
lateral (
  select date_trunc('hour', x.utime) as hour, count(*) as transactions, count(*) filter (where x.aborted) as aborted,
    count(distinct x.account) as accounts, (sum(x.total_fees)) as fees
  from delta.ton.transactions x where x.utime >= d.starts and x.utime < d.ends group by 1) t
where d.relation = 'hourly_activity';

create or replace view delta.ton.failed_transactions as
select d.day, f.phase, f.reason, f.code, f.transactions, f.accounts, f.fees, f.bounced
from delta.ton.open_days d,
lateral (
  select x.phase, x.reason, x.code, count(*) as transactions, count(distinct x.account) as accounts, (sum(x.total_fees)) as fees,
    count(*) filter (where x.bounce_type = 'ok') as bounced
  from (
    select t.account, t.total_fees, t.bounce_type,
      case when t.compute_skipped then 'skipped' when not coalesce(t.compute_success, true) then 'compute'
        when not coalesce(t.action_success, true) then 'action' else 'other' end as phase,
      case when t.compute_skipped then t.compute_reason end as reason,
      case when t.compute_skipped then null when not coalesce(t.compute_success, true) then t.compute_exit_code
        when not coalesce(t.action_success, true) then t.action_result_code end as code
    from delta.ton.transactions t where t.utime >= d.starts and t.utime < d.ends and t.aborted) x
  group by x.phase, x.reason, x.code) f
where d.relation = 'failed_transactions';

create or replace view delta.ton.gas_by_contract as
select d.day, g.account, g.code_hash, g.runs, g.failed, g.gas_used, g.gas_fees
from delta.ton.open_days d,
lateral (
  select x.account, (array_agg(x.after_code_hash order by coalesce(x.after_code_hash<>'',false) desc, x.lt desc))[1] as code_hash, count(*) as runs, count(*) filter (where not x.compute_success) as failed,
    (sum(x.compute_gas_used)) as gas_used, (sum(x.compute_gas_fees)) as gas_fees
  from delta.ton.transactions x where x.utime >= d.starts and x.utime < d.ends and x.compute_gas_used is not null
  group by x.account) g
where d.relation = 'gas_by_contract';

create or replace view delta.ton.ton_proxies as
select '0:8CDC1D7640AD5EE326527FC1AD0514F468B30DC84B0173F0E155F451B4E11F7C' as address, 'stonfi' as dex, 'Proxy TON of STON.fi v1' as note
union all
select '0:671963027F7F85659AB55B821671688601CDCF1EE674FC7FBBB1A776A18D34A3', 'stonfi_v2', 'Proxy TON of STON.fi v2'
union all
select '0:949C4C66760C002800E2FA3D8A3CA4E1C90A9373B53AE7472033483BF14CD95E', 'tonco', 'Proxy TON of TONCO'
union all
select '0:D0A1CE4CDC187C79615EA618BD6C29617AF7A56D966F5A192A768F345EE63FD2', null, 'Wrapped TON';

create or replace view delta.ton.jetton_mints as
select m.utime, m.created_lt as lt, m.hash as message_hash, m.source as jetton_master, m.destination as jetton_wallet, w.owner,
  try_cast(json_extract_scalar(m.content_decoded, '$.amount.value') as decimal(38, 0)) as amount, try_cast(json_extract_scalar(m.content_decoded, '$.query_id') as decimal(38, 0)) as query_id,
  m.out_msg_tx_hash as tx_hash
from delta.ton.jetton_wallets w
join delta.ton.messages m on m.source = w.jetton and m.destination = w.address
where m.opcode = '0x178d4519'
  and case when m.source = w.jetton then not coalesce((select bool_or(x.aborted) from delta.ton.transactions x
      where x.account = m.destination and x.in_msg_utime = m.utime and x.in_msg_hash = m.hash), false) end
union all
select m.utime, m.created_lt, m.hash, m.source, m.destination, case when w.jetton is null then (
    select max(r.source) from delta.ton.transactions s join delta.ton.messages r on r.utime = s.in_msg_utime and r.hash = s.in_msg_hash
    where s.account = m.destination and not coalesce(s.aborted, false) and r.opcode in ('0x0f8a7ea5', '0x595f07bc')) end,
  try_cast(json_extract_scalar(m.content_decoded, '$.amount.value') as decimal(38, 0)), try_cast(json_extract_scalar(m.content_decoded, '$.query_id') as decimal(38, 0)), m.out_msg_tx_hash
from delta.ton.messages m
left join delta.ton.jetton_wallets w on w.address = m.destination
where m.opcode = '0x178d4519' and w.jetton is null
  and case when w.jetton is null then (
      select max(coalesce(r.opcode, '')) from delta.ton.transactions s
      left join delta.ton.messages r on r.utime = s.in_msg_utime and r.hash = s.in_msg_hash
      where s.utime = m.utime and s.hash = m.out_msg_tx_hash) <> '0x0f8a7ea5'
    and not coalesce((select bool_or(x.aborted) from delta.ton.transactions x
      where x.account = m.destination and x.in_msg_utime = m.utime and x.in_msg_hash = m.hash), false) end;

create or replace view delta.etl.refused_transfers as
select i.utime, i.out_msg_tx_hash as transaction_hash, b.destination as source_wallet, b.utime as refused_at
from delta.ton.messages b
join delta.ton.transactions x on x.utime = b.utime and x.hash = b.out_msg_tx_hash
join delta.ton.messages i on i.utime = x.in_msg_utime and i.hash = x.in_msg_hash
where b.bounced and i.opcode = '0x178d4519';

create or replace view delta.etl.transfers as
select t.utime, t.transaction_lt, t.transaction_hash, t.trace_id, t.source, t.destination, t.source_wallet, t.jetton_master, t.amount,
  t.query_id, t.comment, t.response_destination, t.forward_ton_amount,
  coalesce(t.transaction_aborted, false) or (
    select count(*) from delta.etl.refused_transfers r where r.source_wallet = t.source_wallet and r.transaction_hash = t.transaction_hash) > 0 as is_aborted
from delta.ton.jetton_transfers t;

create or replace view delta.ton.jetton_movements as
select j.account, j.utime, j.lt, j.step, j.jetton_master, j.kind, j.amount as amount, j.counterparty, j.tx_hash
from (
  select t.source as account, t.utime, t.transaction_lt as lt, 0 as step, t.jetton_master, 'sent' as kind, -t.amount as amount,
    t.destination as counterparty, t.transaction_hash as tx_hash
  from delta.etl.transfers t where t.source <> '' and not t.is_aborted
  union all
  select t.destination, t.utime, t.transaction_lt, 1, t.jetton_master, 'received', t.amount, t.source, t.transaction_hash
  from delta.etl.transfers t where t.destination <> '' and not t.is_aborted
  union all
  select b.owner, b.utime, b.transaction_lt, 0, b.jetton_master, 'burned', -b.amount, null, b.transaction_hash
  from delta.ton.jetton_burns b where b.owner <> '' and not coalesce(b.transaction_aborted, false)
  union all
  select m.owner, m.utime, m.lt, 2, m.jetton_master, 'minted', m.amount, null, m.tx_hash
  from delta.ton.jetton_mints m) j
where not exists (select 1 from delta.ton.ton_proxies p where p.address = j.jetton_master);

create or replace view delta.ton.jetton_flows as
select d.day, j.jetton_master, j.transfers, j.senders, j.receivers, (j.amount) as amount, (j.minted) as minted, (j.burned) as burned
from delta.ton.open_days d,
lateral (
  select m.jetton_master, count(*) filter (where m.kind = 'sent') as transfers,
    count(distinct m.account) filter (where m.kind = 'sent') as senders,
    count(distinct m.account) filter (where m.kind = 'received') as receivers,
    coalesce(sum(m.amount) filter (where m.kind = 'received'), 0) as amount,
    coalesce(sum(m.amount) filter (where m.kind = 'minted'), 0) as minted,
    coalesce(-sum(m.amount) filter (where m.kind = 'burned'), 0) as burned
  from delta.ton.jetton_movements m where m.utime >= d.starts and m.utime < d.ends
  group by m.jetton_master) j
where d.relation = 'jetton_flows';

create or replace view delta.ton.swaps as
select s.utime, s.trace_id, s.action_id, s.start_utime, s.account, s.dex, s.success,
  case when i.address is not null then 'TON' else s.asset_in end as asset_in, s.amount_in as amount_in,
  case when o.address is not null then 'TON' else s.asset_out end as asset_out, s.amount_out as amount_out,
  case when i.address is not null or s.asset_in = 'TON' then s.paid_by else s.paid_to end as pool
from (
  select d.utime, d.trace_id, d.action_id, d.start_utime, d.account, d.dex, d.success, d.paid_to, d.paid_by, d.amount_in, d.amount_out,
    case when d.named_in is not null then case when d.named_in like '%:%' then upper(d.named_in) else d.named_in end when cast(d.amount_in as varchar) is not null and (d.dex in ('stonfi_v2', 'tonco') or d.dex <> 'stonfi' and d.wallet_in is null) then 'TON' end as asset_in,
    case when d.named_out is not null then case when d.named_out like '%:%' then upper(d.named_out) else d.named_out end when cast(d.amount_out as varchar) is not null and (d.dex in ('stonfi_v2', 'tonco') or d.dex <> 'stonfi' and d.wallet_out is null) then 'TON' end as asset_out
  from (
    select a.utime, a.trace_id, a.action_id, a.start_utime, a.source as account, json_extract_scalar(a.details, '$.dex') as dex, a.success,
      coalesce(json_extract_scalar(a.details, '$.asset_in'), json_extract_scalar(a.details, '$.dex_incoming_transfer.asset'), json_extract_scalar(a.details, '$.peer_swaps[0].asset_in')) as named_in,
      coalesce(json_extract_scalar(a.details, '$.dex_incoming_transfer.source_jetton_wallet'), json_extract_scalar(a.details, '$.dex_incoming_transfer.destination_jetton_wallet')) as wallet_in,
      try_cast(json_extract_scalar(a.details, '$.dex_incoming_transfer.amount') as decimal(38, 0)) as amount_in,
      coalesce(json_extract_scalar(a.details, '$.asset_out'), json_extract_scalar(a.details, '$.dex_outgoing_transfer.asset'), json_value(a.details, 'lax $.peer_swaps[last].asset_out')) as named_out,
      coalesce(json_extract_scalar(a.details, '$.dex_outgoing_transfer.source_jetton_wallet'), json_extract_scalar(a.details, '$.dex_outgoing_transfer.destination_jetton_wallet')) as wallet_out,
      try_cast(json_extract_scalar(a.details, '$.dex_outgoing_transfer.amount') as decimal(38, 0)) as amount_out,
      case when json_extract_scalar(a.details, '$.dex_incoming_transfer.destination') like '%:%' then upper(json_extract_scalar(a.details, '$.dex_incoming_transfer.destination')) else json_extract_scalar(a.details, '$.dex_incoming_transfer.destination') end as paid_to,
      case when json_extract_scalar(a.details, '$.dex_outgoing_transfer.source') like '%:%' then upper(json_extract_scalar(a.details, '$.dex_outgoing_transfer.source')) else json_extract_scalar(a.details, '$.dex_outgoing_transfer.source') end as paid_by
    from delta.ton.actions a where a.type = 'jetton_swap') d) s
left join delta.ton.ton_proxies i on i.address = s.asset_in
left join delta.ton.ton_proxies o on o.address = s.asset_out;

create or replace view delta.etl.mints as
select a.utime, a.trace_id, a.action_id, a.asset as nft_address, json_extract_scalar(a.details, '$.nft_item_index') as nft_index, a.collection_address,
  nullif(a.source, a.collection_address) as owner, not coalesce(a.success, true) as is_aborted, a.start_lt, a.end_lt,
  coalesce(a.collection_address, '') = '0:B774D95EB20543F186C06B371AB88AD704F7E256130CAF96189368A7D0CB6CCF' as is_first_bid
from (
  select n.*, case when json_extract_scalar(n.details, '$.nft_collection') like '%:%' then upper(json_extract_scalar(n.details, '$.nft_collection')) else json_extract_scalar(n.details, '$.nft_collection') end as collection_address from delta.ton.actions n where n.type = 'nft_mint') a;

create or replace view delta.ton.nft_ownership as
select h.nft_address,
  case when h.kind = 'mint' then coalesce(lead(h.previous_owner) over w, case when lead(h.utime) over w is null then coalesce(i.real_owner, i.owner_address) end, h.owner) else h.owner end as owner,
  h.utime as since, lead(h.utime) over w as until, h.kind, h.previous_owner, h.lt, h.trace_id
from (
  select t.nft_address, nullif(t.new_owner, '') as owner, t.utime, t.transaction_lt as lt, 'transfer' as kind,
    nullif(t.old_owner, '') as previous_owner, t.trace_id
  from delta.ton.nft_transfers t where not coalesce(t.transaction_aborted, false)
  union all
  select m.nft_address, m.owner, m.utime, m.end_lt, 'mint', null, m.trace_id from delta.etl.mints m where not m.is_aborted and not m.is_first_bid
  union all
  select a.asset, a.destination, a.utime, a.end_lt, 'sale', a.source, a.trace_id
  from delta.ton.actions a where a.type in ('dns_purchase', 'nft_transfer') and a.amount is not null and (json_extract_scalar(a.details, '$.real_old_owner')) is null and coalesce(a.success, true)
) h
left join delta.ton.nft_items i on i.address = h.nft_address and h.kind = 'mint'
window w as (partition by h.nft_address order by h.utime, h.lt);

create or replace view delta.ton.validator_stakes as
select e.election_id, from_unixtime(case when e.election_id between 0 and 253402300799 then e.election_id end) as starts, e.validator_pubkey, e.stake_holder_address,
  (coalesce(sum(e.amount) filter (where e.type = 'stake_accepted'), 0)) as stake,
  count(*) filter (where e.type = 'stake_accepted') as accepted, count(*) filter (where e.type = 'stake_rejected') as rejected,
  min(e.utime) as first_at, max(e.utime) as last_at
from delta.ton.validator_events e where e.election_id is not null
group by e.election_id, e.validator_pubkey, e.stake_holder_address;

create or replace view delta.ton.validator_income as
select max(m.election_id) as election_id, from_unixtime(max(case when m.election_id between 0 and 253402300799 then m.election_id end)) as starts, m.stake_holder_address,
  count(m.election_id) as elections, (sum(m.stake)) as stake, (sum(m.returned)) as returned,
  (sum(m.returned) - sum(m.stake)) as reward,
  max(m.at) filter (where m.returned is not null) as returned_at
from (
  select x.*, count(x.returned) over (
    partition by x.stake_holder_address order by x.at desc, (x.returned is null), x.lt desc) as returns_from_here
  from (
    select s.stake_holder_address, s.election_id, s.stake, cast(null as decimal(38, 0)) as returned, cast(null as bigint) as lt,
      coalesce(from_unixtime(case when e.successor between 0 and 253402300799 then e.successor end), timestamp '9999-12-31 00:00:00 UTC') as at
    from (
      select v.election_id, v.stake_holder_address, sum(v.amount) as stake from delta.ton.validator_events v
      where v.type = 'stake_accepted' and v.election_id is not null group by 1, 2) s
    join (
      select v.election_id, lead(v.election_id) over (order by v.election_id) as successor from delta.ton.validator_events v
      where v.type = 'stake_accepted' and v.election_id is not null group by 1) e on e.election_id = s.election_id
    union all
    select v.stake_holder_address, null, null, v.amount, v.tx_lt, v.utime from delta.ton.validator_events v
    where v.type = 'stake_recovered') x) m
group by m.stake_holder_address, case when m.returns_from_here = 0 then -1 - m.election_id else cast(m.returns_from_here as bigint) end
having count(m.election_id) > 0;

create or replace view delta.ton.complaints as
select c.utime, c.election_id, c.complaint_hash, c.validator_pubkey, c.stake_holder_address, c.severity, c.suggested_fine, c.is_passed,
  c.approved_percent, v.votes, v.weight, v.voters
from delta.ton.validator_complaints c,
lateral (
  select count(*) as votes, (coalesce(sum(x.weight), 0)) as weight, array_agg(x.validator_index order by x.position) as voters
  from delta.ton.complaint_votes x
  where x.utime = c.utime and x.election_id = c.election_id and x.complaint_hash = c.complaint_hash) v;

create or replace view delta.ton.nominator_pool_cycles as
select e.pool_address, e.validator_address, e.cycle_start,
  (array_agg(e.balance_before order by e.utime, e.tx_lt))[1] as opening,
  (coalesce(sum(e.amount) filter (where e.type = 'reward'), 0)) as rewards,
  (coalesce(sum(e.amount) filter (where e.type = 'penalty'), 0)) as penalties,
  (coalesce(sum(e.amount) filter (where e.type = 'deposit'), 0)) as deposits,
  (coalesce(sum(e.amount) filter (where e.type = 'withdrawal'), 0)) as withdrawals,
  (array_agg(e.balance_after order by e.utime desc, e.tx_lt desc))[1] as closing, count(*) as events
from (
  select x.pool_address, x.validator_address, x.utime, x.tx_lt, x.type, x.amount, x.balance_before, x.balance_after,
    max(x.cycle_start) over (partition by x.pool_address, x.validator_address order by x.utime, x.tx_lt) as cycle_start
  from delta.ton.nominator_pool_events x) e
group by e.pool_address, e.validator_address, e.cycle_start;
