// SPDX-License-Identifier: Apache-2.0
#version 450
layout(constant_id = 0) const int count = 1;
layout(constant_id = 1) const float factor = 1.0;
layout(location = 0) in vec4 color;
layout(location = 0) out vec4 first;
layout(location = 1) out vec4 second;
layout(push_constant) uniform Push { vec4 push; };
layout(set = 0, binding = 1) uniform sampler2D picture;
layout(set = 1, binding = 0) uniform Numbers { vec4 numbers[4]; };

void main()
{
    vec4 sum = texture(picture, color.xy) * factor + push;
    for (int i = 0; i < count; i++) {
        sum += numbers[i & 3];
    }
    first = sum;
    second = sum * color;
}
