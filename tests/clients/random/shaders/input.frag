// SPDX-License-Identifier: Apache-2.0
#version 450
layout(constant_id = 0) const int count = 1;
layout(location = 0) in vec4 color;
layout(location = 0) out vec4 first;
layout(location = 1) out vec4 second;
layout(input_attachment_index = 0, set = 0, binding = 2) uniform subpassInput before;

void main()
{
    first = subpassLoad(before) * float(count);
    second = color;
}
