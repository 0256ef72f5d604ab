// SPDX-License-Identifier: Apache-2.0
#version 450
layout(constant_id = 0) const int count = 1;
layout(constant_id = 1) const float factor = 1.0;
layout(location = 0) in vec4 a;
layout(location = 1) in vec4 b;
layout(location = 0) out vec4 color;
layout(push_constant) uniform Push { vec4 push; };
layout(set = 0, binding = 0) readonly buffer Values { vec4 values[]; };

void main()
{
    vec4 sum = a * factor + push;
    for (int i = 0; i < count; i++) {
        sum += b * float(i) + values[i];
    }
    gl_Position = sum;
    gl_PointSize = 1.0;
    color = sum * 0.5;
}
