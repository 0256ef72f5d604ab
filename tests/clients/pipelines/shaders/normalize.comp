// SPDX-License-Identifier: Apache-2.0
#version 450
#extension GL_EXT_control_flow_attributes : require
// Layer or root-mean-square normalization of one row per workgroup.
layout(local_size_x_id = 0) in;
layout(constant_id = 0) const int GROUP = 64;
layout(constant_id = 1) const int CENTRED = 1;
layout(constant_id = 2) const int AFFINE = 0;
layout(constant_id = 3) const float EPSILON = 1e-5;
layout(set = 0, binding = 0) readonly buffer Source { float source[]; };
layout(set = 0, binding = 1) readonly buffer Affine { vec2 affine[]; };
layout(set = 0, binding = 2) buffer Target { float target[]; };
layout(push_constant) uniform Shape { uvec4 shape; }; // rows, columns

shared vec2 partial[GROUP];

void main()
{
    uint row = gl_WorkGroupID.x;
    uint local = gl_LocalInvocationID.x;
    vec2 moments = vec2(0);
    for (uint i = local; i < shape.y; i += GROUP) {
        float value = source[row * shape.y + i];
        moments += vec2(value, value * value);
    }
    partial[local] = moments;
    barrier();
    [[dont_unroll]] for (int stride = GROUP / 2; stride > 0; stride /= 2) {
        if (local < stride) {
            partial[local] += partial[local + stride];
        }
        barrier();
    }
    moments = partial[0] / float(shape.y);
    float mean = CENTRED != 0 ? moments.x : 0.0;
    float scale = inversesqrt(max(moments.y - mean * mean, 0.0) + EPSILON);
    for (uint i = local; i < shape.y; i += GROUP) {
        float value = (source[row * shape.y + i] - mean) * scale;
        target[row * shape.y + i] = AFFINE != 0 ? fma(value, affine[i].x, affine[i].y) : value;
    }
}
