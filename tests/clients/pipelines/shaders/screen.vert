// SPDX-License-Identifier: Apache-2.0
#version 450
// One triangle that covers the screen, made from the vertex index.
layout(constant_id = 0) const int FLIPPED = 0;
layout(constant_id = 1) const float DEPTH = 0.0;
layout(location = 0) out vec2 uv;

void main()
{
    uv = vec2((gl_VertexIndex << 1) & 2, gl_VertexIndex & 2);
    gl_Position = vec4(uv * 2.0 - 1.0, DEPTH, 1.0);
    if (FLIPPED != 0) {
        gl_Position.y = -gl_Position.y;
    }
}
