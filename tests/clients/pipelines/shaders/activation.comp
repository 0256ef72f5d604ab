// SPDX-License-Identifier: Apache-2.0
#version 450
// The nonlinear functions of neural networks.
layout(local_size_x_id = 0) in;
layout(constant_id = 1) const int FUNCTION = 0; // ReLU, SiLU, GELU, sigmoid, hard swish
layout(constant_id = 2) const int GATED = 0;
layout(constant_id = 3) const float GAIN = 1.0;
layout(set = 0, binding = 0) readonly buffer Source { float source[]; };
layout(set = 0, binding = 1) buffer Target { float target[]; };
layout(push_constant) uniform Shape { uvec4 shape; }; // rows, columns

float function(float x)
{
    switch (FUNCTION) {
    case 0:
        return max(x, 0.0);
    case 1:
        return x / (1.0 + exp(-x));
    case 2:
        return 0.5 * x * (1.0 + tanh(0.7978845 * (x + 0.044715 * x * x * x)));
    case 3:
        return 1.0 / (1.0 + exp(-x));
    default:
        return x * clamp(x / 6.0 + 0.5, 0.0, 1.0);
    }
}

void main()
{
    uint position = gl_GlobalInvocationID.x;
    if (position < shape.x * shape.y) {
        float value = function(GAIN * source[position]);
        target[position] = GATED != 0 ? value * source[position + shape.y] : value;
    }
}
