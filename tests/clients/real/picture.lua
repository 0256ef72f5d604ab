-- SPDX-License-Identifier: Apache-2.0
-- mpv: the first frame as it was drawn, written to a file; then the end. It is asked for again until
-- there is one.
local function take()
    if mp.commandv("screenshot-to-file", os.getenv("PICTURE"), "window") then
        mp.commandv("quit")
    end
end
mp.register_event("playback-restart", function() mp.add_periodic_timer(0.2, take) end)
