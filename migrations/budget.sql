-- The budget of requests. Applied before repeatable.sql, as a whole, whenever one of these files has changed.

-- Minimum extra seconds between requests, beyond what the plan requires: a request that is late by no more than that
-- still keeps the plan.
create or replace function etl.least_slack() returns float8 language sql immutable begin atomic select 0.03::float8; end;

comment on function etl.least_slack is
  'Minimum extra seconds between requests, beyond what the plan requires, because some arrive late.';

-- A plan's counter may be a window: at most n requests in s seconds. All requests of the window and the slack fit
-- into it.
create or replace function etl.budget_rate(p_rps float8, p_factor float8, p_slack float8) returns float8
language sql immutable begin atomic
  select w.requests * p_factor / (w.requests / p_rps + greatest(p_slack, etl.least_slack()))
  from (select greatest(1, floor(p_rps))) w (requests);
end;

comment on function etl.budget_rate is
  'Requests a second that are sent under a plan: its rate, times the share of it that is used (factor), with the slack between requests.';

-- One budget for every process: GCRA (ITU-T I.371, virtual scheduling) with burst 0, on the row of a host in
-- etl.budget. The next slot is at free_at, or now if that is past; each slot moves it on by the spacing.
--
-- Priorities between processes need no list of waiters. A more urgent request may take slots further ahead, so a slot
-- that becomes due is one that no more urgent request wanted. Processes of one priority form a queue: a process that
-- finds no slot learns when to come back, and is served first then.
--
-- It is called as a statement of its own: a transaction that stayed open would block all processes. All times are
-- seconds relative to the answer, so that no client's clock matters.
--
-- In a pause of more than a minute, one request at a time may be sent to probe whether the pause is over (probe_at):
-- its cause may be gone. So may the first request of a process, because it may have another key.
drop function if exists etl.take_slots(text, float8, int, int, boolean, int);
drop function if exists etl.take_slots(text, float8, int, int, boolean, int, boolean);
create function etl.take_slots(
  p_host text, p_rps float8, p_rank int, p_wanted int, p_called boolean, p_succeeded int, p_first boolean default false,
  out granted int, out first float8, out spacing float8, out again float8, out generation bigint, out paused float8
) language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  place constant int := p_rank + 1;
  long_pause constant float8 := 60;
  memory constant float8 := 60;     -- a process that asked within this time is expected to ask again
  early constant float8 := 0.002;   -- a client's timer may be ahead by this
  started constant float8 := extract(epoch from pg_postmaster_start_time());
  b etl.budget;
  moment float8;
  slot float8;
  lead float8;
  span float8;
  line float8;
  come float8;
  urgent int := 0;
  takes boolean;
  probes boolean;
begin
  -- These changes are not needed after a crash of the server, so commits do not wait for the disk.
  perform set_config('synchronous_commit', 'off', true), set_config('lock_timeout', '5s', true);
  select * into b from etl.budget where host = p_host for update;
  if not found then return; end if;
  -- Read only now: a time that was read before waiting for the lock would be in the past, like now().
  moment := extract(epoch from clock_timestamp());

  -- Success raises the rate by 1 % of the plan a second, and by a tenth of that near the rate that was refused last.
  b.factor := least(1, b.factor + p_succeeded / (p_rps * b.factor)
    * case when b.factor between 0.95 * b.refused_factor and 1.03 * b.refused_factor then 0.001 else 0.01 end);
  b.slack := greatest(etl.least_slack(), b.slack - 0.000005 * p_succeeded);
  spacing := 1 / etl.budget_rate(p_rps, b.factor, b.slack);

  slot := greatest(b.free_at, moment);
  if started <> b.server_started_at then
    slot := greatest(slot, moment + 1);   -- the last slots may not have been written
  elsif slot > moment + 5 and moment not between b.refused_at and b.resumed_at then
    slot := moment + 1;                   -- further ahead than any request may take: the clock was set back
  end if;
  b.free_at := slot;
  paused := case when b.resumed_at - b.refused_at > long_pause and moment between b.refused_at and b.resumed_at
    then b.resumed_at - moment else 0 end;
  probes := paused > 0 and (p_first or moment >= b.probe_at);

  for rank in 1 .. p_rank loop
    if b.asked_at[rank] between moment - memory and moment then urgent := urgent + 1; end if;
  end loop;
  -- Other priorities than the tail take a slot only if it is nearly due, so that the tail never waits long.
  lead := case when p_rank = 0 then 0.5 else 0.08 - 0.02 * urgent end;
  -- The tail takes half of the rate, ten seconds' worth at once, and more only if no other priority waits.
  if p_rank = 0 and b.tail_free_at between moment + 10 and moment + memory
    and greatest(b.asked_at[2], b.asked_at[3], b.asked_at[4]) > moment - 5 then
    lead := 0.01;
  end if;
  -- A block of slots lasts at most half a second, and far less if a more urgent request may come.
  span := case when urgent = 0 then 0.5 else 0.05 end;
  granted := least(p_wanted, 1 + floor(span / spacing));

  line := case when b.line_at[place] <= moment + memory then greatest(b.line_at[place], moment) else moment end;
  takes := slot <= moment + lead + early
    -- Waiting processes are served first, but no slot is lost for that.
    and (p_called or p_rank = 0 or line = moment or slot <= moment + lead - 0.02);
  if probes then
    granted := 1;
    slot := moment;
    b.probe_at := moment + long_pause;    -- if its process dies, another request probes
    again := long_pause;
  elsif takes then
    b.free_at := slot + granted * spacing;
    if p_rank = 0 then
      b.tail_free_at := least(greatest(b.tail_free_at, moment) + 2 * granted * spacing, moment + 11);
    end if;
    again := greatest(0, b.free_at - lead - moment);
  else
    come := greatest(moment, slot - lead);
    -- A process that was called, but finds that a few slots were taken, waits for the next one. Otherwise it joins
    -- the queue again.
    if not (p_called and come - moment < 0.75 * granted * spacing) then
      come := greatest(come, line);
      b.line_at[place] := come + granted * spacing;
    end if;
    again := come - moment;
    granted := 0;
  end if;
  -- Another process may end the pause.
  if paused > 0 then again := least(again, 10, greatest(0.1, b.probe_at - moment)); end if;
  first := slot - moment;
  generation := b.generation;
  b.asked_at[place] := moment;
  update etl.budget set
    rps = p_rps, free_at = b.free_at, tail_free_at = b.tail_free_at, asked_at = b.asked_at, line_at = b.line_at,
    factor = b.factor, slack = b.slack, refused_factor = case when b.factor < 1 then b.refused_factor end,
    server_started_at = started, probe_at = b.probe_at
  where host = p_host;
end $$;

comment on function etl.take_slots is
  'Takes slots of the budget of a host, or says when to ask again. Returns how many, seconds until the first, seconds between two, seconds until the next call makes sense, and their generation. The last value is how many seconds a long pause still lasts: a slot during that time is a probe. All are null if the host has no budget yet.';

-- Pauses all processes for as long as the server says, otherwise for half a second, doubled at each relapse. Begins a
-- new generation of slots: refusals of earlier ones are known already.
--
-- A refusal has two possible causes. Arrivals may be bunched (network, busy server): then more slack helps, and that
-- is all that refusals at the full rate change until the slack is at its greatest. Or the plan is smaller than
-- configured, or shared: then the next refusal comes soon, and the rate is reduced by a quarter each time. Later, when
-- the right rate is known, it is reduced by less.
create or replace function etl.refuse_slots(p_host text, p_generation bigint, p_retry_after float8) returns void
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  most_slack constant float8 := 0.1;
  b etl.budget;
  moment float8;
  relapse boolean;
  probed boolean;
  widens boolean;
begin
  perform set_config('synchronous_commit', 'off', true), set_config('lock_timeout', '5s', true);
  select * into b from etl.budget where host = p_host for update;
  if not found then return; end if;
  moment := extract(epoch from clock_timestamp());
  if b.generation = p_generation then
    relapse := moment < b.resumed_at + 10;
    probed := moment < b.resumed_at and b.resumed_at - b.refused_at > 60;
    widens := not probed and b.factor = 1 and b.slack < most_slack;
    -- A probe during a pause tells nothing about the rate.
    if probed then null;
    elsif widens then
      b.slack := least(most_slack, 2 * b.slack);
    else
      b.refused_factor := b.factor;
      b.factor := greatest(0.05, b.factor * case when relapse then 0.75 else 0.92 end);
    end if;
    b.relapses := case when relapse and not widens then b.relapses + 1 else 0 end;
    b.generation := b.generation + 1;
    b.refusals := b.refusals + 1;
    b.refused_at := moment;
    b.resumed_at := moment + coalesce(p_retry_after, least(30, 0.5 * 2 ^ least(b.relapses, 10)));
    b.probe_at := moment + least(900, 60 * 2 ^ least(b.relapses, 4));
  else
    b.resumed_at := greatest(b.resumed_at, moment + coalesce(p_retry_after, 0));
  end if;
  update etl.budget set
    factor = b.factor, refused_factor = b.refused_factor, slack = b.slack, relapses = b.relapses,
    generation = b.generation, refusals = b.refusals, refused_at = b.refused_at, resumed_at = b.resumed_at,
    free_at = case when probed then b.resumed_at else greatest(b.free_at, b.resumed_at) end, probe_at = b.probe_at
  where host = p_host;
end $$;

comment on function etl.refuse_slots is
  'Tells the budget of a host that the server refused a request sent with a slot of this generation, and the pause in seconds that it asked for, if any.';

-- Ends a pause if a request that was sent in it, with a slot of this generation, succeeded.
create or replace function etl.resume_slots(p_host text, p_generation bigint) returns void
language sql set search_path = pg_catalog, pg_temp as $$
  update etl.budget set resumed_at = m.moment, free_at = m.moment + 1 / etl.budget_rate(rps, factor, slack), relapses = 0
  from (select extract(epoch from clock_timestamp())::float8) m (moment)
  where host = p_host and generation = p_generation and resumed_at > m.moment
$$;

comment on function etl.resume_slots is
  'Ends the pause of the budget of a host: a request that was sent in the pause, with a slot of this generation, succeeded.';
