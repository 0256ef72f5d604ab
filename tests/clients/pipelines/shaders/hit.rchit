// SPDX-License-Identifier: Apache-2.0
#version 460
#extension GL_EXT_ray_tracing : require
layout(constant_id = 1) const int CHECKERED = 0;
layout(location = 0) rayPayloadInEXT vec3 radiance;
hitAttributeEXT vec2 barycentric;

void main()
{
    vec3 weights = vec3(1.0 - barycentric.x - barycentric.y, barycentric);
    if (CHECKERED != 0) {
        weights *= float((gl_PrimitiveID + gl_InstanceCustomIndexEXT) & 1);
    }
    radiance = weights * exp(-0.1 * gl_HitTEXT);
}
