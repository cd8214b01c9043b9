-- Ends an attempt, or hands it over. It is judged by the attempt's own record,
-- whatever came after. Allowed when the server is out of memory.
--
-- ARGV: slot, token, outcome, error. Answer: recorded or lost, now.

local slot, token, outcome = ARGV[1], ARGV[2], ARGV[3]

-- standing is the status of the attempt that the token was granted to.
local function standing(attempts)
  for of, status in string.gmatch('\n' .. attempts, '\n%d+ (%d+) %S+ %S+ %S+ (%S+)') do
    if of == token then return status end
  end
end

load()
cut()
local run = runs[slot]
local recorded
if run and run.open and run.token == token then
  recorded = true
  run.rest = finished(run.rest, outcome, ARGV[4]) or damaged(slot)
  run.open = false
  if outcome == 'released' then
    run.counted = run.counted - 1
    changed[run] = true
  else
    finish(run)
  end
else
  local attempts = run and lines(run) or redis.call('ZRANGEBYSCORE', KEYS[2], slot, slot)[1]
  recorded = attempts and standing(attempts) == outcome
end
save(next(ended) and tonumber(job.history))
return {recorded and 'recorded' or 'lost', whole(now)}
