-- Strategy stream-id: a claim is an entry whose ID is the slot. A stream takes
-- IDs in rising order only, and keeps the highest for ever, also when its
-- entries were trimmed. ARGV[8]: how far in the future a slot may lie, whatever
-- the claim allows: one slot of a fast clock would bar all before it.

local run = find(slot)
if run then return taken(run) end

local last = redis.call('XREVRANGE', KEYS[3], '+', '-', 'COUNT', 1)[1]
local newest = last and tonumber(string.match(last[1], '^%d+'))
if newest and at <= newest then
  -- Among the records that are kept it was never granted; before them, nobody
  -- knows.
  local trimmed = tonumber(redis.call('HGET', KEYS[1], 'trimmed') or '-1')
  if at == newest or at <= trimmed then return answer('finished', '') end
  return answer('superseded', whole(newest))
end
local refused = refuse()
if refused then return refused end
if at - now > tonumber(ARGV[8]) then return answer('early', whole(at - now)) end

local added = redis.pcall('XADD', KEYS[3], slot .. '-1', 'claim', id)
if added.err then
  -- Entries were deleted by hand; the stream still knows.
  if string.find(added.err, 'equal or smaller', 1, true) then return answer('finished', '') end
  return added
end
local won = grant()
-- Some records more than the history shows: whose answer was lost must find its
-- claim, and whose run lasts must be able to finish, although newer slots were
-- granted.
local keep = math.max(tonumber((string.match(ARGV[7], '^%d+'))), 10)
local over = redis.call('XLEN', KEYS[3]) - keep
if over > 0 then
  local trimmed
  for _, entry in ipairs(redis.call('XRANGE', KEYS[3], '-', '+', 'COUNT', over)) do
    trimmed = string.match(entry[1], '^%d+')
    redis.call('HDEL', KEYS[2], trimmed)
  end
  redis.call('XTRIM', KEYS[3], 'MAXLEN', '=', keep)
  redis.call('HSET', KEYS[1], 'trimmed', trimmed)
end
return won
