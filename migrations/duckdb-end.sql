-- Functions that read tables: applied after the views.

create or replace macro ton.jetton_units(master, amount) as etl.units(amount, etl.decimals_of(
  (select max(m.decimals) from ton.jetton_masters m where m.address = ton.ton_address(master)),
  (select any_value(m.jetton_content) from ton.jetton_masters m where m.address = ton.ton_address(master)),
  (select max(k.decimals) from ton.token_metadata k where k.address = ton.ton_address(master)),
  (select bool_or(k.is_indexed) from ton.token_metadata k where k.address = ton.ton_address(master))));

create or replace macro etl.trace_of(wanted) as (
  select trace_id from (
    select 1 as place, t.trace_id from ton.traces t where t.trace_id = wanted
    union all
    select 2, x.trace_id from ton.transactions x where x.hash = wanted
    union all
    -- A message belongs to the trace of its sender; one from outside to that of its receiver.
    select 3, x.trace_id from ton.messages m join ton.transactions x on x.hash = m.out_msg_tx_hash
    where m.hash = wanted or m.hash_norm = wanted
    union all
    select 4, x.trace_id from ton.messages m
    join ton.transactions x on x.account = m.destination and x.utime = m.utime and x.in_msg_hash = m.hash
    where m.out_msg_tx_hash is null and (m.hash = wanted or m.hash_norm = wanted)
  ) where trace_id is not null order by place limit 1);

-- No rows if the lake has no finished trace with the hash.
create or replace macro ton.trace_tree(trace) as table
with recursive chosen as (
  select t.trace_id, t.start_utime, t.utime from ton.traces t where t.trace_id = etl.trace_of(ton.ton_hash(trace))
  order by t.utime desc limit 1
), nodes as (
  select e.tx_hash, e.parent_tx_hash, e.position from ton.trace_nodes e, chosen c
  where e.utime = c.utime and e.trace_id = c.trace_id
), walk as (
  select e.tx_hash, 0 as depth, [e.position] as path from nodes e where e.parent_tx_hash is null
  union all
  select e.tx_hash, w.depth + 1, list_append(w.path, e.position) from walk w join nodes e on e.parent_tx_hash = w.tx_hash
)
select w.depth,
  repeat('  ', w.depth) || left(x.account, 10) || '…' || right(x.account, 4)
    || coalesce(' ' || coalesce(m.decoded_opcode, m.opcode), '')
    || coalesce(' ' || ton.nano_to_ton(m.value) || ' TON', '')
    || case when x.aborted then ' aborted' else '' end as tree,
  x.utime, x.lt, x.account, m.opcode, m.value, x.aborted, w.tx_hash
from walk w
left join (
  select x.* from ton.transactions x, chosen c where x.trace_id = c.trace_id and x.utime between c.start_utime and c.utime
) x on x.hash = w.tx_hash
left join ton.messages m on m.utime = x.in_msg_utime and m.hash = x.in_msg_hash
order by w.path;

create or replace macro ton.jetton_holders(master, moment := 'infinity') as table
select h.owner, sum(h.amount) as balance, h.jetton_wallet
from (
  select m.account as owner, m.amount, null::varchar as jetton_wallet from ton.jetton_movements m
  where m.jetton_master = ton.ton_address(master) and m.utime < moment::timestamptz and m.account is not null
  union all
  select null, n.amount, n.jetton_wallet from ton.jetton_mints n
  where n.jetton_master = ton.ton_address(master) and n.utime < moment::timestamptz and n.owner is null) h
group by h.owner, h.jetton_wallet having sum(h.amount) <> 0
order by 2 desc, 1, 3;

create or replace macro ton.account_statement(wanted, since, until) as table
select l.utime, l.kind, coalesce(m.symbol, k.symbol, l.jetton_master, 'TON') as asset,
  etl.units(l.amount, u.decimals) as amount, etl.units(l.balance, u.decimals) as balance,
  -- An address without such a form is shown as it is.
  case when regexp_full_match(l.counterparty, '(-1|[0-9]{1,2}):[0-9A-F]{64}') then ton.ton_address_friendly(l.counterparty)
    else nullif(l.counterparty, '') end as counterparty,
  l.jetton_master,
  case when regexp_full_match(l.tx_hash, '[A-Za-z0-9+/]{42}[AEIMQUYcgkosw048]=') then ton.hash_hex(l.tx_hash) else l.tx_hash end as tx_hash
from ton.account_ledger l
left join ton.jetton_masters m on m.address = l.jetton_master
left join ton.token_metadata k on k.address = l.jetton_master
cross join lateral (select case when l.jetton_master is null then 9
  else etl.decimals_of(m.decimals, m.jetton_content, k.decimals, k.is_indexed) end as decimals) u
where l.account = ton.ton_address(wanted) and l.utime >= since::timestamptz and l.utime < until::timestamptz
order by l.utime, l.lt, l.step, l.tx_hash;

set search_path = 'ton,etl,main';
