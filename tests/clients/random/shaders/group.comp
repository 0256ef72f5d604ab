// SPDX-License-Identifier: Apache-2.0
#version 450
#extension GL_KHR_shader_subgroup_arithmetic : require
layout(local_size_x = 128) in;
layout(constant_id = 0) const int count = 1;
layout(set = 0, binding = 0) buffer Values { vec4 values[]; };

void main()
{
    uint i = gl_GlobalInvocationID.x;
    values[i] = subgroupAdd(values[i]) * float(count) + float(gl_SubgroupSize);
}
