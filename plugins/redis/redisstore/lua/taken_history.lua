-- The runs of one job below a slot, the newest first.
--
-- ARGV: slot or +inf, how many. Answer: now, and per run: slot, attempt.

local below, limit = tonumber(ARGV[1]) or math.huge, tonumber(ARGV[2])
local state = redis.call('HGET', KEYS[1], 'state')
local history = state and tonumber(string.match(state, '^%d+ (%d+)') or damaged(KEYS[1], 'state')) or 0
local slots = {}
for _, field in ipairs(redis.call('HKEYS', KEYS[2])) do
  if string.find(field, '^%-?%d+$') then slots[#slots + 1] = tonumber(field) end
end
table.sort(slots, function(a, b) return a > b end)
local answer = {whole(now)}
for i = 1, math.min(#slots, history) do
  if #answer > 2 * limit then break end
  if slots[i] < below then
    local slot = whole(slots[i])
    local run = find(slot)
    answer[#answer + 1], answer[#answer + 2] = slot, '1 ' .. run.token .. ' ' .. run.rest
  end
end
return answer
