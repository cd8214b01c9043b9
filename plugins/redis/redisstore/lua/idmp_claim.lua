-- Strategy idmp: a claim is an entry whose idempotent id is the slot. The server
-- answers a repeated id with the entry that was there first; its claim id tells
-- who won. ARGV[8]: duration in seconds, ARGV[9]: how many ids are kept.

local run = find(slot)
if run and run.id == id then return taken(run) end
if not run or now - run.started >= ARGV[8] * 1000 then
  local refused = refuse()
  if refused then return refused end
end

-- The settings come before the first claim: to change them clears the memory.
local info = redis.pcall('XINFO', 'STREAM', KEYS[3])
if info.err then
  local first = redis.call('XADD', KEYS[3], '*', 'settings', '')
  redis.call('XCFGSET', KEYS[3], 'IDMP-DURATION', ARGV[8], 'IDMP-MAXSIZE', ARGV[9])
  redis.call('XDEL', KEYS[3], first)
else
  local is = {}
  for i = 1, #info, 2 do is[info[i]] = info[i + 1] end
  if is['idmp-duration'] ~= tonumber(ARGV[8]) or is['idmp-maxsize'] ~= tonumber(ARGV[9]) then
    return 'drift ' .. is['idmp-duration'] .. ' ' .. is['idmp-maxsize']
  end
end

local first = redis.call('XADD', KEYS[3], 'IDMP', 'claims', slot, '*', 'slot', slot, 'claim', id)
local entry = redis.call('XRANGE', KEYS[3], first, first)[1]
if not entry or entry[2][4] ~= id then return answer('finished', run and run.status or '') end
local won = grant()

-- An entry stays as long as its id may be remembered.
local most = math.max(tonumber((string.match(ARGV[7], '^%d+'))), tonumber(ARGV[9]))
local over = redis.call('XLEN', KEYS[3]) - most
if over > 0 then
  for _, old in ipairs(redis.call('XRANGE', KEYS[3], '-', '+', 'COUNT', over)) do
    local kept = find(old[2][2])
    if kept and kept.id == old[2][4] then redis.call('HDEL', KEYS[2], old[2][2]) end
  end
  redis.call('XTRIM', KEYS[3], 'MAXLEN', '=', most)
end
return won
