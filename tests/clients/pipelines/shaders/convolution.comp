// SPDX-License-Identifier: Apache-2.0
#version 450
// Direct convolution of one output channel, kernel and stride known to the compiler.
layout(local_size_x_id = 0, local_size_y_id = 1) in;
layout(constant_id = 2) const int KERNEL = 3;
layout(constant_id = 3) const int STRIDE = 1;
layout(constant_id = 4) const int ACTIVATION = 0; // none, ReLU, leaky ReLU, hard swish
layout(constant_id = 5) const float GAIN = 1.0;
layout(set = 0, binding = 0) readonly buffer Source { float source[]; };
layout(set = 0, binding = 1) readonly buffer Weights { float weights[]; };
layout(set = 0, binding = 2) readonly buffer Bias { float bias[]; };
layout(set = 0, binding = 3) buffer Target { float target[]; };
layout(push_constant) uniform Shape { uvec4 shape; }; // width, height, channels

void main()
{
    ivec2 position = ivec2(gl_GlobalInvocationID.xy);
    ivec2 size = ivec2(shape.xy);
    if (any(greaterThanEqual(position, size))) {
        return;
    }
    float sum = bias[gl_WorkGroupID.z];
    for (uint channel = 0; channel < shape.z; channel++) {
        for (int y = 0; y < KERNEL; y++) {
            for (int x = 0; x < KERNEL; x++) {
                ivec2 at = position * STRIDE + ivec2(x, y) - KERNEL / 2;
                if (all(greaterThanEqual(at, ivec2(0))) && all(lessThan(at, size))) {
                    float value = source[(channel * shape.y + at.y) * shape.x + at.x];
                    sum = fma(value, weights[(channel * KERNEL + y) * KERNEL + x], sum);
                }
            }
        }
    }
    sum *= GAIN;
    if (ACTIVATION == 1) {
        sum = max(sum, 0.0);
    } else if (ACTIVATION == 2) {
        sum = sum < 0.0 ? 0.1 * sum : sum;
    } else if (ACTIVATION == 3) {
        sum *= clamp(sum / 6.0 + 0.5, 0.0, 1.0);
    }
    target[position.y * shape.x + position.x] = sum;
}
