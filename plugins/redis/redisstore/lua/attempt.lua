-- An attempt is a line of words:
--
--   attempt token started instance reason status ended =error
--
-- Instance and error are escaped by the plugin, so that no word holds a space
-- or a line feed. Later versions may append words; they are carried along.
-- Slots and tokens stay text wherever they are not compared.

-- finished ends an attempt that runs: rest is its line from "started" on,
-- and whatever follows the line. nil if it does not run.
local function finished(rest, status, text)
  local head, tail = string.match(rest, '^(%S+ %S+ %S+) running 0 =(.*)$')
  if head then return head .. ' ' .. status .. ' ' .. whole(now) .. ' =' .. text .. tail end
end
