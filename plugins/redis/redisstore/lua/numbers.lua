-- whole spells a whole number with all its digits. Lua's own rule stops at 14;
-- and halves, since %d takes a C long, which has 32 bits on some servers.
local function whole(n)
  if n < 1e6 then return string.format('%d', n) end
  return string.format('%d%06d', n / 1e6, n % 1e6)
end
