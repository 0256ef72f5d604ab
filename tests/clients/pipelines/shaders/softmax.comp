// SPDX-License-Identifier: Apache-2.0
#version 450
#extension GL_EXT_control_flow_attributes : require
// Softmax over rows, with an optional causal mask.
layout(local_size_x_id = 0) in;
layout(constant_id = 0) const int GROUP = 32;
layout(constant_id = 1) const int CAUSAL = 0;
layout(constant_id = 2) const int LOGARITHM = 0;
layout(constant_id = 3) const float TEMPERATURE = 1.0;
layout(set = 0, binding = 0) readonly buffer Source { float source[]; };
layout(set = 0, binding = 1) buffer Target { float target[]; };
layout(push_constant) uniform Shape { uvec4 shape; }; // rows, columns

shared float partial[GROUP];

float reduce(float value, bool maximum)
{
    uint local = gl_LocalInvocationID.x;
    barrier();
    partial[local] = value;
    barrier();
    [[dont_unroll]] for (int stride = GROUP / 2; stride > 0; stride /= 2) {
        if (local < stride) {
            float other = partial[local + stride];
            partial[local] = maximum ? max(partial[local], other) : partial[local] + other;
        }
        barrier();
    }
    return partial[0];
}

void main()
{
    uint row = gl_WorkGroupID.x;
    uint columns = CAUSAL != 0 ? min(row + 1, shape.y) : shape.y;
    float largest = -1e30;
    for (uint i = gl_LocalInvocationID.x; i < columns; i += GROUP) {
        largest = max(largest, source[row * shape.y + i] / TEMPERATURE);
    }
    largest = reduce(largest, true);
    float sum = 0.0;
    for (uint i = gl_LocalInvocationID.x; i < columns; i += GROUP) {
        sum += exp(source[row * shape.y + i] / TEMPERATURE - largest);
    }
    sum = reduce(sum, false);
    for (uint i = gl_LocalInvocationID.x; i < shape.y; i += GROUP) {
        float shifted = source[row * shape.y + i] / TEMPERATURE - largest;
        float value = LOGARITHM != 0 ? shifted - log(sum) : exp(shifted) / sum;
        target[row * shape.y + i] = i < columns ? value : 0.0;
    }
}
