-- What the scripts of strategy lease share: the state of one job.
--
--   KEYS[1]  hash of the job: newest, token, history, fingerprint, and
--            run:<slot> for each unfinished run
--   KEYS[2]  sorted set of its ended runs, scored by slot
--   KEYS[3]  hash of the namespace: claim id of each unfinished run -> job
--
-- An unfinished run is seven words, the line of its last attempt, and the lines
-- of those before, newest first:
--
--   end lease open counted max skip id attempt token started ...
--
-- An ended run is those lines alone. A script reads everything, decides, and
-- writes last, the sorted set first: an error on the way leaves nothing half
-- done. Fields that are not named here are kept.

local job, runs = {}, {} -- runs by slot, as text
local changed, ended = {}, {}

-- damaged ends the script, before anything was written.
local function damaged(slot) error({err = 'DAMAGED key ' .. KEYS[1] .. ', field run:' .. slot}) end

local function parse(slot, value)
  local run = {slot = slot}
  local lease_end, lease, open, counted
  lease_end, lease, open, counted, run.max, run.skip, run.id, run.attempt, run.token, run.rest =
    string.match(value, '^(%d+) (%d+) ([01]) (%d+) (%d+) ([01]) (%x+) (%d+) (%d+) (.*)$')
  if not lease_end then damaged(slot) end
  run.lease_end, run.lease, run.counted = tonumber(lease_end), tonumber(lease), tonumber(counted)
  run.open = open == '1'
  return run
end

local function load()
  local all = redis.call('HGETALL', KEYS[1])
  for i = 1, #all, 2 do
    local field = all[i]
    if string.sub(field, 1, 4) == 'run:' then
      local slot = string.sub(field, 5)
      runs[slot] = parse(slot, all[i + 1])
    else
      job[field] = all[i + 1]
    end
  end
end

-- cut shortens each lease that has more left than its length: the store's clock
-- went back, and a dead runner must not stay protected until it caught up.
local function cut()
  for _, run in pairs(runs) do
    if run.lease_end > now + run.lease then
      run.lease_end = now + run.lease
      changed[run] = true
    end
  end
end

local function live(run) return run.open and now < run.lease_end end

local function left(run) return live(run) and whole(run.lease_end - now) or '0' end

local function holder(run) return (string.match(run.rest, '^%S+ (%S+)')) end

-- lines are the attempts of a run, as an ended run keeps them.
local function lines(run) return run.attempt .. ' ' .. run.token .. ' ' .. run.rest end

-- finish ends a run for good. An attempt that is open is interrupted; one that
-- was handed over stays so.
local function finish(run)
  if run.open then run.rest = finished(run.rest, 'interrupted', '') or damaged(run.slot) end
  run.open = false
  changed[run], ended[run] = nil, true
  runs[run.slot] = nil
end

local function value(run)
  return whole(run.lease_end) .. ' ' .. whole(run.lease) .. (run.open and ' 1 ' or ' 0 ') .. run.counted .. ' ' ..
    run.max .. ' ' .. run.skip .. ' ' .. run.id .. ' ' .. lines(run)
end

-- save writes what changed, and keeps the history to its size if one is given:
-- the oldest slots go first.
local function save(history)
  for run in pairs(ended) do
    redis.call('ZADD', KEYS[2], run.slot, lines(run))
    redis.call('HDEL', KEYS[1], 'run:' .. run.slot)
    redis.call('HDEL', KEYS[3], run.id)
  end
  for run in pairs(changed) do redis.call('HSET', KEYS[1], 'run:' .. run.slot, value(run)) end
  if history then redis.call('ZREMRANGEBYRANK', KEYS[2], 0, -history - 1) end
end
