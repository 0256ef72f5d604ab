// SPDX-License-Identifier: Apache-2.0
#version 450
// Enlarges an image, by the nearest pixel or bilinearly.
layout(local_size_x_id = 0, local_size_y_id = 1) in;
layout(constant_id = 2) const int FACTOR = 2;
layout(constant_id = 3) const int BILINEAR = 0;
layout(constant_id = 4) const float GAIN = 1.0;
layout(set = 0, binding = 0) readonly buffer Source { float source[]; };
layout(set = 0, binding = 1) buffer Target { float target[]; };
layout(push_constant) uniform Shape { uvec4 shape; }; // width, height of the source

float at(uvec2 position)
{
    uvec2 inside = min(position, shape.xy - 1);
    return source[inside.y * shape.x + inside.x];
}

void main()
{
    uvec2 position = gl_GlobalInvocationID.xy;
    uvec2 size = shape.xy * FACTOR;
    if (any(greaterThanEqual(position, size))) {
        return;
    }
    uvec2 base = position / FACTOR;
    float value = at(base);
    if (BILINEAR != 0) {
        vec2 part = vec2(position % FACTOR) / float(FACTOR);
        float below = mix(at(base + uvec2(0, 1)), at(base + uvec2(1, 1)), part.x);
        value = mix(mix(value, at(base + uvec2(1, 0)), part.x), below, part.y);
    }
    target[position.y * size.x + position.x] = GAIN * value;
}
