-- Which of these commands may this user not run? It runs none of them.
--
-- KEYS: as many as the commands need. ARGV: commands, each a line of words; a
-- word KEYn is the n-th key.

local missing = {}
for _, line in ipairs(ARGV) do
  local words = {}
  for word in string.gmatch(line, '%S+') do
    local key = string.match(word, '^KEY(%d)$')
    words[#words + 1] = key and KEYS[tonumber(key)] or word
  end
  if not redis.acl_check_cmd(unpack(words)) then missing[#missing + 1] = words[1] end
end
return missing
