-- May an instance execute this run? The rules, and their numbers, are those of
-- docs/protocol.md.
--
-- ARGV: slot, claim id, after, instance, reason, lease, max early, max late with
-- its tolerance, skip (0 or 1), max attempts, history, fingerprint, job.
-- Answer: verdict, now, the fingerprint before, and up to three more.

local slot, id, after, instance = ARGV[1], ARGV[2], ARGV[3], ARGV[4]
local at = tonumber(slot)

local owner = redis.call('HGET', KEYS[3], id)
if owner and owner ~= ARGV[13] then return {'invalid', 'job', owner} end
load()
if owner then
  for _, run in pairs(runs) do
    if run.id == id then
      if run.slot ~= slot then return {'invalid', 'slot', run.slot} end
      if holder(run) ~= instance then return {'invalid', 'instance', holder(run)} end
    end
  end
end
cut()

local newest = tonumber(job.newest)
local granted -- the run, if this claim is granted
local replaced -- the claim id of its attempt before

-- endedas is the status of the run if it ended, empty if that was trimmed.
local function endedas()
  if not newest or at > newest then return end
  local member = redis.call('ZRANGEBYSCORE', KEYS[2], slot, slot)[1]
  if member then return (string.match(member, '^%S+ %S+ %S+ %S+ %S+ (%S+)')) end
  return at == newest and '' or nil
end

-- grant is rule 8.
local function grant(run)
  local before = ''
  if run then
    if run.open then run.rest = finished(run.rest, 'interrupted', '') or damaged(slot) end
    before, replaced = '\n' .. lines(run), run.id
  else
    run = {slot = slot, attempt = 0, counted = 0, max = ARGV[10]}
  end
  for _, older in pairs(runs) do
    if tonumber(older.slot) < at and not live(older) then finish(older) end
  end
  local lease = tonumber(ARGV[6])
  run.id, run.open, run.skip, run.lease, run.lease_end = id, true, ARGV[9], lease, now + lease
  run.attempt, run.counted = run.attempt + 1, run.counted + 1
  run.token = whole(math.max((tonumber(job.token) or 0) + 1, now))
  run.rest = whole(now) .. ' ' .. instance .. ' ' .. ARGV[5] .. ' running 0 =' .. before
  changed[run] = nil -- written with the job's own fields
  granted = run
  return 'won', whole(run.attempt), run.token, left(run)
end

-- judge is rules 2 to 8.
local function judge(run)
  if not run then
    local status = endedas()
    if status then return 'finished', status end -- 2
  elseif live(run) then
    return 'running', run.attempt, holder(run), left(run) -- 3
  end
  if newest and at < newest then -- 4
    if run then finish(run) end
    return 'superseded', job.newest
  end
  if not run then -- 5
    if now - at > tonumber(ARGV[8]) then return 'late', whole(now - at) end
    if at - now > tonumber(ARGV[7]) then return 'early', whole(at - now) end
  end
  local other -- 6; of several the oldest slot is named
  for _, o in pairs(runs) do
    if o ~= run and live(o) and (ARGV[9] == '1' or o.skip == '1') and not (other and tonumber(other.slot) < tonumber(o.slot)) then
      other = o
    end
  end
  if other then return 'overlap', other.slot, holder(other), left(other) end
  if after ~= (run and run.attempt or '0') then -- 7
    if run then return 'running', run.attempt, holder(run), '0' end
    return 'running', '0', '', '0'
  end
  if run and run.counted >= tonumber(run.max) then
    finish(run)
    return 'exhausted', whole(run.counted)
  end
  return grant(run) -- 8
end

local run = runs[slot]
if run and run.open and run.id == id then -- 1
  save()
  return {'won', whole(now), job.fingerprint or '', run.attempt, run.token, left(run)}
end

local verdict, a, b, c = judge(run)
local fields = {}
if granted then
  fields = {'run:' .. slot, value(granted), 'token', granted.token}
  if not newest or newest < at then fields[5], fields[6] = 'newest', slot end
end
local history
if newest or granted then
  -- History size and fingerprint are those of the last claim.
  if job.fingerprint ~= ARGV[12] then fields[#fields + 1], fields[#fields + 2] = 'fingerprint', ARGV[12] end
  if job.history ~= ARGV[11] then fields[#fields + 1], fields[#fields + 2] = 'history', ARGV[11] end
  if job.history ~= ARGV[11] or next(ended) then history = tonumber(ARGV[11]) end
end
save(history)
if fields[1] then redis.call('HSET', KEYS[1], unpack(fields)) end
if granted then
  if replaced then redis.call('HDEL', KEYS[3], replaced) end
  redis.call('HSET', KEYS[3], id, ARGV[13])
end
return {verdict, whole(now), job.fingerprint or '', a, b or '', c or ''}
