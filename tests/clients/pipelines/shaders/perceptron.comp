// SPDX-License-Identifier: Apache-2.0
#version 450
#extension GL_EXT_control_flow_attributes : require
// A small neural network per invocation, fully unrolled: the other heavy shader.
layout(local_size_x_id = 0) in;
layout(constant_id = 1) const int LAYERS = 3;
layout(constant_id = 2) const int ACTIVATION = 0;
layout(constant_id = 3) const float GAIN = 1.0;
layout(set = 0, binding = 0) readonly buffer Source { vec4 source[]; };
layout(set = 0, binding = 1) uniform Weights { vec4 weights[256]; };
layout(set = 0, binding = 2) buffer Target { vec4 target[]; };
layout(push_constant) uniform Shape { uvec4 shape; };

vec4 activate(vec4 x)
{
    return ACTIVATION == 1 ? x / (1.0 + abs(x)) : (ACTIVATION == 2 ? sin(x) : max(x, 0.1 * x));
}

void main()
{
    uint position = gl_GlobalInvocationID.x;
    if (position >= shape.x) {
        return;
    }
    vec4 state[4];
    [[unroll]] for (int i = 0; i < 4; i++) {
        state[i] = GAIN * source[position * 4 + i];
    }
    [[unroll]] for (int layer = 0; layer < LAYERS; layer++) {
        vec4 next[4];
        [[unroll]] for (int i = 0; i < 4; i++) {
            next[i] = weights[layer * 20 + 16 + i];
            [[unroll]] for (int j = 0; j < 4; j++) {
                int at = layer * 20 + i * 4 + j;
                next[i] += vec4(dot(weights[at], state[j]), dot(weights[at].yzwx, state[j]),
                                dot(weights[at].zwxy, state[j]), dot(weights[at].wxyz, state[j]));
            }
        }
        [[unroll]] for (int i = 0; i < 4; i++) {
            state[i] = activate(next[i]);
        }
    }
    [[unroll]] for (int i = 0; i < 4; i++) {
        target[position * 4 + i] = state[i];
    }
}
