-- The unfinished runs of one job. It writes only if the store's clock went back:
-- like every step, this one cuts the leases then.
--
-- Answer: now, newest slot, and per run: slot, attempt, token, open (0 or 1),
-- holder, lease left, attempts that count.

local answer = {whole(now), newest or '0'}
for _, run in ipairs(runs) do
  local n = #answer
  detail(run)
  answer[n + 1], answer[n + 2], answer[n + 3], answer[n + 4] = run.slot, run.attempt, run.token, run.open and '1' or '0'
  answer[n + 5], answer[n + 6], answer[n + 7] = holder(run), left(run), run.counted
end
save()
return answer
