select a.*, w.wallets, now() as built_at
from ({{ days_to_build('daily_activity') }}) d
join {{ source('ton', 'daily_activity') }} a on a.day = d.day
left join {{ source('ton', 'active_wallets') }} w on w.day = d.day
