-- What the claim-only strategies share: which slots of one job were taken.
--
--   KEYS[1]  hash of the job: token, history, fingerprint; stream-id: trimmed,
--            the highest slot whose record was dropped
--   KEYS[2]  hash of its runs: slot -> claim id, and the line of its attempt
--   KEYS[3]  the slots in the order of their grants: a list or a stream, by
--            which each strategy remembers
--
-- Fields that are not named here are kept.

local function parse(slot, value)
  local run = {}
  run.id, run.token, run.rest, run.started, run.instance, run.status =
    string.match(value, '^(%x+) 1 (%d+) ((%d+) (%S+) %S+ (%S+) .*)$')
  if not run.id then error({err = 'DAMAGED key ' .. KEYS[2] .. ', field ' .. slot}) end
  run.started = tonumber(run.started)
  return run
end

local function find(slot)
  local value = redis.call('HGET', KEYS[2], slot)
  return value and parse(slot, value)
end

local function store(slot, run)
  redis.call('HSET', KEYS[2], slot, run.id .. ' 1 ' .. run.token .. ' ' .. run.rest)
end
