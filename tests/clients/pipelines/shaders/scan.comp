// SPDX-License-Identifier: Apache-2.0
#version 450
#extension GL_EXT_control_flow_attributes : require
// Inclusive or exclusive prefix sum within a workgroup (Hillis and Steele).
layout(local_size_x_id = 0) in;
layout(constant_id = 0) const int GROUP = 64;
layout(constant_id = 1) const int EXCLUSIVE = 0;
layout(constant_id = 2) const int REVERSED = 0;
layout(constant_id = 3) const float GAIN = 1.0;
layout(set = 0, binding = 0) readonly buffer Source { float source[]; };
layout(set = 0, binding = 1) buffer Target { float target[]; };
layout(push_constant) uniform Shape { uvec4 shape; };

shared float values[2 * GROUP];

void main()
{
    uint count = shape.x * shape.y;
    uint local = gl_LocalInvocationID.x;
    uint position = gl_WorkGroupID.x * GROUP + (REVERSED != 0 ? GROUP - 1 - local : local);
    float own = position < count ? GAIN * source[position] : 0.0;
    uint page = 0;
    values[local] = own;
    [[dont_unroll]] for (int offset = 1; offset < GROUP; offset *= 2) {
        barrier();
        float value = values[page * GROUP + local];
        if (local >= offset) {
            value += values[page * GROUP + local - offset];
        }
        page = 1 - page;
        values[page * GROUP + local] = value;
    }
    if (position < count) {
        float value = values[page * GROUP + local];
        target[position] = EXCLUSIVE != 0 ? value - own : value;
    }
}
