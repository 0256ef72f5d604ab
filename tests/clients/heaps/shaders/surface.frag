// SPDX-License-Identifier: Apache-2.0
#version 450
// SPDX-License-Identifier: Apache-2.0
// A texture by push index with a sampler of the heap, and one with a sampler embedded in the pipeline.
layout(constant_id = 0) const uint steps = 1;
layout(set = 0, binding = 0) uniform texture2D color;
layout(set = 0, binding = 1) uniform sampler smooth_sampler;
layout(set = 0, binding = 2) uniform sampler2D shadow;
layout(location = 0) in vec2 place;
layout(location = 0) out vec4 result;

void main()
{
    vec4 sum = vec4(0.0);
    for (uint step = 0; step < steps; step++) {
        sum += texture(sampler2D(color, smooth_sampler), place * float(step + 1));
    }
    result = sum * texture(shadow, place.yx).r;
}
