// SPDX-License-Identifier: Apache-2.0
#version 450
// SPDX-License-Identifier: Apache-2.0
// As a game's compute shader: buffers by push index, a uniform block by address.
layout(local_size_x = 64) in;
layout(constant_id = 0) const uint steps = 1;
layout(set = 0, binding = 0) readonly buffer Objects { vec4 bounds[]; };
layout(set = 0, binding = 1) writeonly buffer Visible { uint visible[]; };
layout(set = 1, binding = 0) uniform Planes { vec4 planes[6]; };

void main()
{
    vec4 object = bounds[gl_GlobalInvocationID.x];
    bool inside = true;
    for (uint step = 0; step < steps; step++) {
        for (int i = 0; i < 6; i++) {
            inside = inside && dot(vec4(object.xyz, 1.0), planes[i]) > -object.w * float(step + 1);
        }
        object.xyz = fract(object.yzx * 1.7 + float(steps));
    }
    visible[gl_GlobalInvocationID.x] = inside ? 1 : 0;
}
