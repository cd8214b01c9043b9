-- Strategy script remembers the last runs of a job, so long and so many:
-- KEYS[3] is a list of slots, the oldest grant first. The last two of ARGV, in
-- every script: the window, and how many runs.

local window, most = tonumber(ARGV[#ARGV - 1]), tonumber(ARGV[#ARGV])

local function forget()
  while true do
    local oldest = redis.call('LINDEX', KEYS[3], 0)
    if not oldest then return end
    local run = find(oldest)
    if run and now - run.started < window and redis.call('LLEN', KEYS[3]) <= most then return end
    redis.call('LPOP', KEYS[3])
    redis.call('HDEL', KEYS[2], oldest)
  end
end

forget()
