-- whole spells a number with all its digits: Lua's own rule stops at 14.
local function whole(n) return string.format('%.0f', n) end
