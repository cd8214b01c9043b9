-- Strategy script: a run is remembered for the window, and for so many later
-- grants of its job.

local run = find(slot)
if run then return taken(run) end
local refused = refuse()
if refused then return refused end
redis.call('RPUSH', KEYS[3], slot)
local won = grant()
forget()
return won
