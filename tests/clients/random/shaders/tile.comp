// SPDX-License-Identifier: Apache-2.0
#version 450
layout(local_size_x_id = 10) in;
layout(constant_id = 0) const int count = 1;
layout(constant_id = 1) const float factor = 1.0;
layout(constant_id = 2) const bool sampled = true;
layout(push_constant) uniform Push { vec4 push; };
layout(set = 0, binding = 0) buffer Values { vec4 values[]; };
layout(set = 0, binding = 1) uniform sampler2D picture;
layout(set = 1, binding = 0) uniform Numbers { vec4 numbers[4]; };

void main()
{
    uint i = gl_GlobalInvocationID.x;
    vec4 value = values[i] * factor;
    for (int k = 0; k < count; k++) {
        value += numbers[k & 3] * push;
    }
    values[i] = sampled ? value + textureLod(picture, value.xy, 0.0) : value;
}
