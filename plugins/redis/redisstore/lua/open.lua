-- The jobs of the namespace that have unfinished runs; one with several is there
-- several times. KEYS[1]: hash, claim id -> job. Answer: now, jobs.

local answer = redis.call('HVALS', KEYS[1])
table.insert(answer, 1, whole(now))
return answer
