-- Records what a new namespace holds, and tells what is recorded. An existing
-- record is not touched. Allowed when the server is out of memory: a service
-- must be able to restart.
--
-- KEYS[1]: hash of the namespace. ARGV: format, strategy, memory.
-- Answer: format, strategy, memory.

if redis.call('EXISTS', KEYS[1]) == 0 then
  redis.call('HSET', KEYS[1], 'format', ARGV[1], 'strategy', ARGV[2], 'memory', ARGV[3])
end
local record = redis.call('HMGET', KEYS[1], 'format', 'strategy', 'memory')
return {record[1] or '', record[2] or '', record[3] or ''}
