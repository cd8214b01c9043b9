-- The runs of one job from a slot downwards, whole, the newest first.
--
-- ARGV: slot or +inf, how many ended runs. Answer: now, and per run: slot,
-- attempts. The unfinished runs come first, in no order.

load()
local answer = {whole(now)}
local from = tonumber(ARGV[1]) or math.huge
for slot, run in pairs(runs) do
  if tonumber(slot) <= from then answer[#answer + 1], answer[#answer + 2] = slot, lines(run) end
end
local ended = redis.call('ZREVRANGEBYSCORE', KEYS[2], ARGV[1], '-inf', 'WITHSCORES', 'LIMIT', 0, ARGV[2])
for i = 1, #ended, 2 do
  answer[#answer + 1], answer[#answer + 2] = ended[i + 1], ended[i]
end
return answer
