// SPDX-License-Identifier: Apache-2.0
#version 450
layout(vertices = 3) out;
layout(constant_id = 0) const int count = 1;
layout(location = 0) in vec4 in_color[];
layout(location = 0) out vec4 out_color[];

void main()
{
    gl_out[gl_InvocationID].gl_Position = gl_in[gl_InvocationID].gl_Position;
    gl_TessLevelOuter[0] = float(count);
    gl_TessLevelOuter[1] = gl_TessLevelOuter[2] = gl_TessLevelInner[0] = 2.0;
    out_color[gl_InvocationID] = in_color[gl_InvocationID];
}
