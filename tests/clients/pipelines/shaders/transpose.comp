// SPDX-License-Identifier: Apache-2.0
#version 450
// Transposition through a padded tile of shared memory.
layout(local_size_x_id = 0, local_size_y_id = 0) in;
layout(constant_id = 0) const int TILE = 8;
layout(constant_id = 1) const int PADDING = 1;
layout(constant_id = 2) const int NEGATED = 0;
layout(constant_id = 3) const float GAIN = 1.0;
layout(set = 0, binding = 0) readonly buffer Source { float source[]; };
layout(set = 0, binding = 1) buffer Target { float target[]; };
layout(push_constant) uniform Shape { uvec4 shape; }; // rows, columns

shared float tile[TILE * (TILE + PADDING)];

void main()
{
    uvec2 local = gl_LocalInvocationID.xy;
    uvec2 from = gl_WorkGroupID.xy * TILE + local;
    if (from.x < shape.y && from.y < shape.x) {
        tile[local.y * (TILE + PADDING) + local.x] = source[from.y * shape.y + from.x];
    }
    barrier();
    uvec2 to = gl_WorkGroupID.yx * TILE + local;
    if (to.x < shape.x && to.y < shape.y) {
        float value = GAIN * tile[local.x * (TILE + PADDING) + local.y];
        target[to.y * shape.x + to.x] = NEGATED != 0 ? -value : value;
    }
}
