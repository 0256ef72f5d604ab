// SPDX-License-Identifier: Apache-2.0
#version 450
// SPDX-License-Identifier: Apache-2.0
layout(constant_id = 0) const uint steps = 1;
layout(location = 0) out vec2 place;

void main()
{
    vec2 corner = vec2(gl_VertexIndex & 1, gl_VertexIndex >> 1);
    for (uint step = 0; step < steps; step++) {
        corner = corner.yx * 1.5 - float(step);
    }
    place = corner;
    gl_Position = vec4(corner, 0.0, 1.0);
}
