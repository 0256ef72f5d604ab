// SPDX-License-Identifier: Apache-2.0
#version 450
// SPDX-License-Identifier: Apache-2.0
layout(constant_id = 0) const uint steps = 1;
layout(set = 0, binding = 2) uniform sampler2D picture;
layout(location = 0) in vec2 place;
layout(location = 0) out vec4 result;

void main()
{
    result = vec4(0.0);
    for (uint step = 0; step < steps; step++) {
        result += texture(picture, place * float(step + 1u));
    }
}
