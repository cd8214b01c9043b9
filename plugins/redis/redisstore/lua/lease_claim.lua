-- May an instance execute this run? The rules, and their numbers, are those of
-- docs/protocol.md.
--
-- ARGV: slot, claim id, after, "instance reason", lease, max early, max late with
-- its tolerance, "skip max", "history =fingerprint", job: words as they are
-- stored. Answer: verdict, now, history and fingerprint before, and up to three
-- more words.

local slot, id = ARGV[1], ARGV[2]
local at = tonumber(slot)
local skips = string.sub(ARGV[8], 1, 1)

local owner = redis.call('HGET', KEYS[3], id)
if owner and owner ~= ARGV[10] then return 'invalid job ' .. owner end

local run
for _, other in ipairs(runs) do
  if other.slot == slot then run = other end
  if owner and detail(other).id == id then
    if other.slot ~= slot then return 'invalid slot ' .. other.slot end
    if holder(other) ~= string.match(ARGV[4], '^%S+') then return 'invalid instance ' .. holder(other) end
  end
end

local highest = newest and tonumber(newest)
local granted -- the run, if this claim is granted
local replaced -- the claim id of its attempt before

-- endedas is the status of the run if it ended, empty if that was trimmed.
local function endedas()
  local member = redis.call('ZRANGEBYSCORE', KEYS[2], slot, slot)[1]
  if member then return (string.match(member, '^%S+ %S+ %S+ %S+ %S+ (%S+)')) end
  return at == highest and '' or nil
end

-- grant is rule 8.
local function grant()
  local before = ''
  local attempt, counted, most = '1', '1', string.sub(ARGV[8], 3)
  for i = #runs, 1, -1 do
    local older = runs[i]
    if left(older) == '0' and tonumber(older.slot) < at then finish(older) end
  end
  if run then
    if run.open then run.rest = finished(run.rest, 'interrupted', '') or damaged('runs') end
    before, replaced = '\n' .. lines(run), run.id
    attempt, counted, most = whole(run.attempt + 1), whole(run.counted + 1), run.max
  else
    run = {slot = slot}
    runs[#runs + 1] = run
  end
  local this = whole(now)
  run.lease_end, run.lease, run.open = now + ARGV[5], ARGV[5], true
  run.token = token and tonumber(token) >= now and whole(token + 1) or this
  run.skip, run.max, run.counted, run.id, run.attempt = skips, most, counted, id, attempt
  run.rest = this .. ' ' .. ARGV[4] .. ' running 0 =' .. before
  granted = run
  change(run)
  return 'won', attempt .. ' ' .. run.token .. ' ' .. ARGV[5]
end

-- judge is rules 1 to 8.
local function judge()
  if run then
    if detail(run).id == id and run.open then -- 1
      return 'again', run.attempt .. ' ' .. run.token .. ' ' .. left(run)
    end
    if left(run) ~= '0' then return 'running', run.attempt .. ' ' .. holder(run) .. ' ' .. left(run) end -- 3
  elseif highest and at <= highest then
    local status = endedas()
    if status then return 'finished', status end -- 2
  end
  if highest and at < highest then -- 4
    if run then finish(run) end
    return 'superseded', newest
  end
  if not run then -- 5
    if now - at > tonumber(ARGV[7]) then return 'late', whole(now - at) end
    if at - now > tonumber(ARGV[6]) then return 'early', whole(at - now) end
  end
  local other -- 6; of several the oldest slot is named
  for _, o in ipairs(runs) do
    if o ~= run and left(o) ~= '0' and (skips == '1' or detail(o).skip == '1') and not (other and tonumber(other.slot) < tonumber(o.slot)) then
      other = o
    end
  end
  if other then return 'overlap', other.slot .. ' ' .. holder(other) .. ' ' .. left(other) end
  if ARGV[3] ~= (run and run.attempt or '0') then -- 7
    if run then return 'running', run.attempt .. ' ' .. holder(run) .. ' 0' end
    return 'running', '0  0'
  end
  if run and tonumber(run.counted) >= tonumber(run.max) then
    finish(run)
    return 'exhausted', run.counted
  end
  return grant() -- 8
end

local verdict, more = judge()
if verdict == 'again' then
  verdict = 'won'
  save()
elseif granted or newest then
  -- History size and fingerprint are those of the last claim.
  local state, history
  if granted then
    if not highest or at > highest then newest = slot end
    token = granted.token
  end
  if granted or schedule ~= ARGV[9] then state = newest .. ' ' .. token .. ' ' .. ARGV[9] .. (later or '') end
  if ended[1] or schedule ~= ARGV[9] then history = string.match(ARGV[9], '^%d+') end
  save(state, history)
end
if replaced then redis.call('HDEL', KEYS[3], replaced) end
if granted then redis.call('HSET', KEYS[3], id, ARGV[10]) end
return verdict .. ' ' .. whole(now) .. ' ' .. (schedule or '0 =') .. ' ' .. more
