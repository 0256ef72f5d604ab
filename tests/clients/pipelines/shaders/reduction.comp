// SPDX-License-Identifier: Apache-2.0
#version 450
#extension GL_EXT_control_flow_attributes : require
// One value per workgroup: sum, maximum, minimum or Euclidean norm.
layout(local_size_x_id = 0) in;
layout(constant_id = 0) const int GROUP = 64;
layout(constant_id = 1) const int OPERATION = 0;
layout(constant_id = 2) const int PER_THREAD = 4;
layout(constant_id = 3) const float GAIN = 1.0;
layout(set = 0, binding = 0) readonly buffer Source { float source[]; };
layout(set = 0, binding = 1) buffer Target { float target[]; };
layout(push_constant) uniform Shape { uvec4 shape; };

shared float partial[GROUP];

float combine(float a, float b)
{
    return OPERATION == 1 ? max(a, b) : (OPERATION == 2 ? min(a, b) : a + b);
}

void main()
{
    uint count = shape.x * shape.y;
    uint local = gl_LocalInvocationID.x;
    uint first = gl_WorkGroupID.x * GROUP * PER_THREAD + local;
    float value = OPERATION == 1 ? -1e30 : (OPERATION == 2 ? 1e30 : 0.0);
    for (int i = 0; i < PER_THREAD; i++) {
        uint at = first + i * GROUP;
        if (at < count) {
            float x = GAIN * source[at];
            value = combine(value, OPERATION == 3 ? x * x : x);
        }
    }
    partial[local] = value;
    barrier();
    [[dont_unroll]] for (int stride = GROUP / 2; stride > 0; stride /= 2) {
        if (local < stride) {
            partial[local] = combine(partial[local], partial[local + stride]);
        }
        barrier();
    }
    if (local == 0) {
        target[gl_WorkGroupID.x] = OPERATION == 3 ? sqrt(partial[0]) : partial[0];
    }
}
