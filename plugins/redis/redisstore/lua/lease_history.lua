-- The runs of one job from a slot downwards, whole, the newest first.
--
-- ARGV: slot or +inf, how many ended runs. Answer: now, and per run: slot,
-- attempts. The unfinished runs come first, in no order.

local answer = {whole(now)}
local highest = tonumber(ARGV[1]) or math.huge
for _, run in ipairs(runs) do
  if tonumber(run.slot) <= highest then answer[#answer + 1], answer[#answer + 2] = run.slot, lines(run) end
end
local members = redis.call('ZREVRANGEBYSCORE', KEYS[2], ARGV[1], '-inf', 'WITHSCORES', 'LIMIT', 0, ARGV[2])
for i = 1, #members, 2 do
  answer[#answer + 1], answer[#answer + 2] = members[i + 1], members[i]
end
return answer
