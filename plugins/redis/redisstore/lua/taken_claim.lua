-- What the claims of all claim-only strategies do alike.
--
-- ARGV: slot, claim id, after, "instance reason", max early, max late with its
-- tolerance, "history =fingerprint", and what the strategy needs.
-- Answer: verdict, now, history and fingerprint before, and up to two more words.

local slot, id = ARGV[1], ARGV[2]
local at = tonumber(slot)
local state = redis.call('HGET', KEYS[1], 'state')
local token, schedule, later
if state then
  token, schedule, later = string.match(state, '^(%d+) (%d+ =%S*)(.*)$')
  if not token then damaged(KEYS[1], 'state') end
end

-- answer is the end of a claim: history size and fingerprint are those of the
-- last one.
local function answer(verdict, more)
  if token then
    local new = token .. ' ' .. ARGV[7] .. (later or '')
    if new ~= state then redis.call('HSET', KEYS[1], 'state', new) end
  end
  return verdict .. ' ' .. whole(now) .. ' ' .. (schedule or '0 =') .. ' ' .. more
end

-- taken answers a claim of a slot that was granted.
local function taken(run)
  if run.id == id and run.status == 'running' and run.instance == string.match(ARGV[4], '^%S+') then
    return answer('won', '1 ' .. run.token)
  end
  return answer('finished', run.status)
end

-- refuse answers a claim that comes too late or too early, or that says itself
-- that its slot was granted; nil if it may be granted.
local function refuse()
  if ARGV[3] ~= '0' then return answer('finished', '') end
  if now - at > tonumber(ARGV[6]) then return answer('late', whole(now - at)) end
  if at - now > tonumber(ARGV[5]) then return answer('early', whole(at - now)) end
end

local function grant()
  local this = whole(now)
  token = token and tonumber(token) >= now and whole(token + 1) or this
  store(slot, {id = id, token = token, rest = this .. ' ' .. ARGV[4] .. ' running 0 ='})
  return answer('won', '1 ' .. token)
end
