-- What the claim-only strategies share: which slots of one job were taken.
--
--   KEYS[1]  hash of the job:
--            state  last token, history size, =fingerprint
--            trimmed  stream-id: the highest slot whose record was dropped
--   KEYS[2]  hash of its runs: slot -> claim id, and the line of its attempt
--   KEYS[3]  the slots in the order of their grants: a list or a stream, by
--            which each strategy remembers
--
-- Fields that are not named here, and words after those that are, are kept.

local function damaged(key, field) error({err = 'DAMAGED key ' .. key .. ', field ' .. field}) end

local function find(slot)
  local value = redis.call('HGET', KEYS[2], slot)
  if not value then return end
  local run = {}
  run.id, run.token, run.rest, run.started, run.instance, run.status =
    string.match(value, '^(%x+) 1 (%d+) ((%d+) (%S+) %S+ (%S+) .*)$')
  if not run.id then damaged(KEYS[2], slot) end
  run.started = tonumber(run.started)
  return run
end

local function store(slot, run)
  redis.call('HSET', KEYS[2], slot, run.id .. ' 1 ' .. run.token .. ' ' .. run.rest)
end
