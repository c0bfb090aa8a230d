-- The last balance of each asset that changed on a day. Balances of jettons are sums from the first stored movement on.
select distinct on (d.day, x.account, x.asset) d.day, x.account, x.asset, x.symbol, x.balance, x.balance_raw, d.certified, now() as built_at
from ({{ days_to_build('jetton_flows') }}) d
join {{ source('ton', 'days') }} b on b.day = d.day
join {{ source('ton', 'balances') }} x on x.utime >= b.starts and x.utime < b.ends
order by d.day, x.account, x.asset, x.utime desc, x.lt desc, x.step desc
