// SPDX-License-Identifier: Apache-2.0
#version 450
// Histogram through shared atomics; integers, so that the order of additions does not matter.
layout(local_size_x_id = 0) in;
layout(constant_id = 0) const int GROUP = 64;
layout(constant_id = 1) const int BINS = 32;
layout(constant_id = 2) const int LOGARITHMIC = 0;
layout(constant_id = 3) const float GAIN = 1.0;
layout(set = 0, binding = 0) readonly buffer Source { float source[]; };
layout(set = 0, binding = 1) buffer Target { uint target[]; };
layout(push_constant) uniform Shape { uvec4 shape; };

shared uint bins[BINS];

void main()
{
    for (uint i = gl_LocalInvocationID.x; i < BINS; i += GROUP) {
        bins[i] = 0;
    }
    barrier();
    uint position = gl_GlobalInvocationID.x;
    if (position < shape.x * shape.y) {
        float value = GAIN * abs(source[position]);
        value = LOGARITHMIC != 0 ? log2(1.0 + value) : value;
        atomicAdd(bins[clamp(int(value * BINS), 0, BINS - 1)], 1);
    }
    barrier();
    for (uint i = gl_LocalInvocationID.x; i < BINS; i += GROUP) {
        atomicAdd(target[i], bins[i]);
    }
}
