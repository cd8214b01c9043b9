-- Renews the lease of an open attempt, also after it ran out: nobody took the
-- run over. Allowed when the server is out of memory: running jobs must be able
-- to go on.
--
-- ARGV: slot, token, lease. Answer: renewed or lost, now.

load()
cut()
local run = runs[ARGV[1]]
local renewed = run and run.open and run.token == ARGV[2]
if renewed then
  -- Never shortened. What is left of a longer lease counts as asked for, or the
  -- next step would cut it.
  local lease = tonumber(ARGV[3])
  run.lease_end = math.max(run.lease_end, now + lease)
  run.lease = math.max(lease, run.lease_end - now)
  changed[run] = true
end
save()
return {renewed and 'renewed' or 'lost', whole(now)}
