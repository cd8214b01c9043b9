-- Renews the lease of an open attempt, also after it ran out: nobody took the
-- run over. Allowed when the server is out of memory: running jobs must be able
-- to go on.
--
-- ARGV: slot, token, lease. Answer: renewed or lost, now.

local verdict = 'lost '
for _, run in ipairs(runs) do
  if run.slot == ARGV[1] and run.open and run.token == ARGV[2] then
    -- Never shortened. What is left of a longer lease counts as asked for, or the
    -- next step would cut it.
    verdict = 'renewed '
    change(run)
    if run.lease_end <= now + ARGV[3] then
      run.lease_end, run.lease = now + ARGV[3], ARGV[3]
    else
      run.lease = whole(run.lease_end - now)
    end
  end
end
save()
return verdict .. whole(now)
