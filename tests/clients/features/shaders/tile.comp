// SPDX-License-Identifier: Apache-2.0
#version 450
// SPDX-License-Identifier: Apache-2.0
layout(local_size_x = 64) in;
layout(constant_id = 0) const uint steps = 1;
layout(set = 0, binding = 0) buffer Values { vec4 values[]; };

void main()
{
    vec4 value = values[gl_GlobalInvocationID.x];
    for (uint step = 0; step < steps; step++) {
        value = fract(value.yzwx * 1.7 + values[(gl_GlobalInvocationID.x + step) & 1023u]);
    }
    values[gl_GlobalInvocationID.x] = value;
}
