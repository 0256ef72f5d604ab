// SPDX-License-Identifier: Apache-2.0
#version 450
// Rows looked up by index, as an embedding table is read.
layout(local_size_x_id = 0) in;
layout(constant_id = 1) const int ROWS = 16;
layout(constant_id = 2) const int ACCUMULATE = 0;
layout(constant_id = 3) const float GAIN = 1.0;
layout(set = 0, binding = 0) readonly buffer Table { float table[]; };
layout(set = 0, binding = 1) readonly buffer Indices { uint indices[]; };
layout(set = 0, binding = 2) buffer Target { float target[]; };
layout(push_constant) uniform Shape { uvec4 shape; }; // rows, columns

void main()
{
    uint position = gl_GlobalInvocationID.x;
    if (position < shape.x * shape.y) {
        uint row = indices[position / shape.y] % ROWS;
        float value = GAIN * table[row * shape.y + position % shape.y];
        target[position] = ACCUMULATE != 0 ? target[position] + value : value;
    }
}
