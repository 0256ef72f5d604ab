// SPDX-License-Identifier: Apache-2.0
#version 460
#extension GL_EXT_ray_tracing : require
layout(constant_id = 2) const float BRIGHTNESS = 1.0;
layout(location = 0) rayPayloadInEXT vec3 radiance;

void main()
{
    radiance = BRIGHTNESS * mix(vec3(1.0), vec3(0.5, 0.7, 1.0), 0.5 * gl_WorldRayDirectionEXT.y + 0.5);
}
