-- The store's clock, Unix milliseconds. It is read once: a step has one now.
local clock = redis.call('TIME')
local now = clock[1] * 1000 + math.floor(clock[2] / 1000)
