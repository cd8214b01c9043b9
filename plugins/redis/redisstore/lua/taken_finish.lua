-- Adds the outcome to the record of a run. Allowed when the server is out of
-- memory.
--
-- ARGV: slot, token, outcome, error. Answer: recorded or lost, now.

local slot, token, outcome = ARGV[1], ARGV[2], ARGV[3]
local run = find(slot)
local recorded = run and run.token == token and (run.status == 'running' or run.status == outcome)
if recorded and run.status == 'running' then
  run.rest = finished(run.rest, outcome, ARGV[4])
  store(slot, run)
end
return (recorded and 'recorded ' or 'lost ') .. whole(now)
