-- What the claims of all claim-only strategies do alike.
--
-- ARGV: slot, claim id, after, instance, reason, max early, max late with its
-- tolerance, history, fingerprint, and what the strategy needs.
-- Answer: verdict, now, the fingerprint before, and up to two more.

local slot, id, instance = ARGV[1], ARGV[2], ARGV[4]
local at = tonumber(slot)
local state = redis.call('HMGET', KEYS[1], 'token', 'history', 'fingerprint', 'trimmed')
local token = tonumber(state[1])

-- answer is the end of a claim: history size and fingerprint are those of the
-- last one.
local function answer(verdict, a, b)
  if token then
    if state[2] ~= ARGV[8] or state[3] ~= ARGV[9] then
      redis.call('HSET', KEYS[1], 'history', ARGV[8], 'fingerprint', ARGV[9])
    end
  end
  return {verdict, whole(now), state[3] or '', a or '', b or ''}
end

-- taken answers a claim of a slot that was granted.
local function taken(run)
  if run.id == id and run.instance == instance and run.status == 'running' then
    return answer('won', '1', run.token)
  end
  return answer('finished', run.status)
end

-- refuse answers a claim that comes too late or too early, or that says itself
-- that its slot was granted; nil if it may be granted.
local function refuse()
  if ARGV[3] ~= '0' then return answer('finished') end
  if now - at > tonumber(ARGV[7]) then return answer('late', whole(now - at)) end
  if at - now > tonumber(ARGV[6]) then return answer('early', whole(at - now)) end
end

local function grant()
  token = math.max((token or 0) + 1, now)
  local run = {id = id, token = whole(token), rest = whole(now) .. ' ' .. instance .. ' ' .. ARGV[5] .. ' running 0 ='}
  store(slot, run)
  redis.call('HSET', KEYS[1], 'token', run.token)
  return answer('won', '1', run.token)
end
