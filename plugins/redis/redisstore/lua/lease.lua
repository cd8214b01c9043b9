-- What the scripts of strategy lease share: the state of one job.
--
--   KEYS[1]  hash of the job:
--            state  newest token history =fingerprint
--            runs   its unfinished runs, each ended by an empty line
--   KEYS[2]  sorted set of its ended runs, scored by slot
--   KEYS[3]  hash of the namespace: claim id of each unfinished run -> job
--
-- An unfinished run is some words, its last attempt's line from "started" on,
-- and the lines of the attempts before, newest first:
--
--   slot end lease open token skip max counted id attempt started ...
--
-- An ended run is the lines of its attempts. A script reads everything, decides,
-- and writes last: an error on the way leaves nothing half done. Fields that are
-- not named here, and words after those that are, are kept.

local function damaged(field) error({err = 'DAMAGED key ' .. KEYS[1] .. ', field ' .. field}) end

local stored = redis.call('HMGET', KEYS[1], 'state', 'runs')
local newest, token, schedule, later
if stored[1] then
  newest, token, schedule, later = string.match(stored[1], '^(%-?%d+) (%d+) (%d+ =%S*)(.*)$')
  if not newest then damaged('state') end
end

local runs = {}
local ended = {} -- in this step
local changed = false

local text, from = stored[2] or '', 1
while from <= #text do
  local slot, lease_end, lease, open, of, rest = string.match(text, '^(%-?%d+) (%d+) (%d+) ([01]) (%d+) ()', from)
  local stop = string.find(text, '\n\n', from, true)
  if not slot or not stop then damaged('runs') end
  local run = {
    slot = slot, lease_end = tonumber(lease_end), lease = lease, open = open == '1', token = of,
    rest = string.sub(text, rest, stop - 1), from = from, to = stop + 1,
  }
  -- The store's clock went back: a dead runner must not stay protected until it
  -- caught up.
  if run.lease_end > now + lease then
    run.lease_end, run.from, changed = now + lease, nil, true
  end
  runs[#runs + 1] = run
  from = stop + 2
end

-- change says that a run must be written anew.
local function change(run) run.from, changed = nil, true end

-- detail reads what is needed less often.
local function detail(run)
  if not run.id then
    run.skip, run.max, run.counted, run.id, run.attempt, run.rest = string.match(run.rest, '^([01]) (%d+) (%d+) (%x+) (%d+) (.*)$')
    if not run.id then damaged('runs') end
  end
  return run
end

local function left(run)
  if run.open and now < run.lease_end then return whole(run.lease_end - now) end
  return '0'
end

local function holder(run) return (string.match(detail(run).rest, '^%S+ (%S+)')) end

-- lines are the attempts of a run, as an ended run keeps them.
local function lines(run) return detail(run).attempt .. ' ' .. run.token .. ' ' .. run.rest end

-- finish ends a run for good. An attempt that is open is interrupted; one that
-- was handed over stays so.
local function finish(run)
  detail(run)
  if run.open then run.rest = finished(run.rest, 'interrupted', '') or damaged('runs') end
  ended[#ended + 1], changed = run, true
  for i = #runs, 1, -1 do
    if runs[i] == run then table.remove(runs, i) end
  end
end

-- save writes what changed; state is the job's own, if that did. If history is
-- given, so many ended runs are kept, and the oldest slots go first.
local function save(state, history)
  for _, run in ipairs(ended) do
    redis.call('ZADD', KEYS[2], run.slot, lines(run))
    redis.call('HDEL', KEYS[3], run.id)
  end
  if history then redis.call('ZREMRANGEBYRANK', KEYS[2], 0, -history - 1) end
  if not changed then return state and redis.call('HSET', KEYS[1], 'state', state) end
  local all = {}
  for i, run in ipairs(runs) do
    if run.from then
      all[i] = string.sub(text, run.from, run.to)
    else
      local rest = run.rest
      if run.id then rest = run.skip .. ' ' .. run.max .. ' ' .. run.counted .. ' ' .. run.id .. ' ' .. run.attempt .. ' ' .. rest end
      all[i] = run.slot .. ' ' .. whole(run.lease_end) .. ' ' .. run.lease .. (run.open and ' 1 ' or ' 0 ') .. run.token .. ' ' .. rest .. '\n\n'
    end
  end
  all = table.concat(all)
  if state then
    redis.call('HSET', KEYS[1], 'state', state, 'runs', all)
  else
    redis.call('HSET', KEYS[1], 'runs', all)
  end
end
