// SPDX-License-Identifier: Apache-2.0
#version 460
// SPDX-License-Identifier: Apache-2.0
#extension GL_EXT_ray_tracing : require
layout(constant_id = 0) const uint steps = 1;
layout(location = 0) rayPayloadInEXT vec3 radiance;
hitAttributeEXT vec2 barycentric;

void main()
{
    radiance = vec3(barycentric, gl_HitTEXT * float(steps));
}
