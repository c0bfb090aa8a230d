select d.day, e.jetton_master, max(e.symbol) as symbol, count(*) filter (where e.type = 'transfer') as transfers,
  count(distinct e.source) filter (where e.type = 'transfer') as senders,
  count(distinct e.destination) filter (where e.type = 'transfer') as receivers,
  sum(e.amount) filter (where e.type = 'transfer') as transferred, sum(e.amount) filter (where e.type = 'mint') as minted,
  sum(e.amount) filter (where e.type = 'burn') as burned, d.certified, now() as built_at
from ({{ days_to_build('jetton_flows') }}) d
join {{ source('ton', 'days') }} b on b.day = d.day
join {{ source('ton', 'jetton_events') }} e on e.utime >= b.starts and e.utime < b.ends
where not e.is_aborted
group by d.day, d.certified, e.jetton_master
