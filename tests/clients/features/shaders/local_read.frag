// SPDX-License-Identifier: Apache-2.0
#version 450
// SPDX-License-Identifier: Apache-2.0
// Reads what was drawn to one attachment and writes to the other.
layout(constant_id = 0) const uint steps = 1;
layout(input_attachment_index = 0, set = 0, binding = 1) uniform subpassInput drawn;
layout(location = 0) in vec2 place;
layout(location = 0) out vec4 result;

void main()
{
    vec4 sum = subpassLoad(drawn);
    for (uint step = 0; step < steps; step++) {
        sum = sum.yzwx * place.x + place.y;
    }
    result = sum;
}
