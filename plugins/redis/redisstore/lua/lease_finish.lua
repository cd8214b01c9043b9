-- Ends an attempt, or hands it over. It is judged by the attempt's own record,
-- whatever came after. Allowed when the server is out of memory.
--
-- ARGV: slot, token, outcome, error. Answer: recorded or lost, now.

local slot, outcome = ARGV[1], ARGV[3]

-- standing is the status of the attempt that the token was granted to.
local function standing(attempts)
  for of, status in string.gmatch('\n' .. attempts, '\n%d+ (%d+) %S+ %S+ %S+ (%S+)') do
    if of == ARGV[2] then return status end
  end
end

local run
for _, other in ipairs(runs) do
  if other.slot == slot then run = other end
end
local recorded
if run and run.open and run.token == ARGV[2] then
  recorded = true
  redis.call('HGET', KEYS[3], detail(run).id) -- a key of another type is an error before anything is written
  change(run)
  run.rest = finished(detail(run).rest, outcome, ARGV[4]) or damaged('runs')
  run.open = false
  if outcome == 'released' then
    run.counted = whole(run.counted - 1)
  else
    finish(run)
  end
else
  local attempts = run and lines(run) or redis.call('ZRANGEBYSCORE', KEYS[2], slot, slot)[1]
  recorded = attempts and standing(attempts) == outcome
end
save(nil, ended[1] and string.match(schedule, '^%d+'))
return (recorded and 'recorded ' or 'lost ') .. whole(now)
