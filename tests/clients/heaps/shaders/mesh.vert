// SPDX-License-Identifier: Apache-2.0
#version 450
// SPDX-License-Identifier: Apache-2.0
layout(constant_id = 0) const uint steps = 1;
layout(location = 0) in vec4 position;
layout(location = 0) out vec2 place;
layout(set = 1, binding = 0) uniform Camera { mat4 camera; };

void main()
{
    vec4 moved = position;
    for (uint step = 0; step < steps; step++) {
        moved = camera * moved + float(step);
    }
    gl_Position = moved;
    place = moved.xy;
}
