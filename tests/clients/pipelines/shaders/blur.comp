// SPDX-License-Identifier: Apache-2.0
#version 450
// Separable Gaussian blur, one pass; the weights fold into constants.
layout(local_size_x_id = 0, local_size_y_id = 1) in;
layout(constant_id = 2) const int RADIUS = 3;
layout(constant_id = 3) const int VERTICAL = 0;
layout(constant_id = 4) const float GAIN = 1.0;
layout(set = 0, binding = 0) uniform sampler2D source;
layout(set = 0, binding = 1, rgba8) writeonly uniform image2D target;

float weight(int offset)
{
    float sigma = max(float(RADIUS), 1.0) * 0.5;
    return exp(-float(offset * offset) / (2.0 * sigma * sigma));
}

void main()
{
    ivec2 size = imageSize(target);
    ivec2 position = ivec2(gl_GlobalInvocationID.xy);
    if (any(greaterThanEqual(position, size))) {
        return;
    }
    vec2 step_size = (VERTICAL != 0 ? vec2(0, 1) : vec2(1, 0)) / vec2(size);
    vec2 centre = (vec2(position) + 0.5) / vec2(size);
    vec4 sum = vec4(0);
    float total = 0.0;
    for (int i = -RADIUS; i <= RADIUS; i++) {
        float w = weight(i);
        sum += w * textureLod(source, centre + float(i) * step_size, 0.0);
        total += w;
    }
    imageStore(target, position, GAIN * sum / total);
}
