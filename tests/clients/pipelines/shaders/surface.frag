// SPDX-License-Identifier: Apache-2.0
#version 450
#extension GL_EXT_control_flow_attributes : require
// Blinn-Phong shading of several lights, with optional normal map and fog.
layout(constant_id = 2) const int LIGHTS = 2;
layout(constant_id = 3) const int NORMAL_MAP = 0;
layout(constant_id = 4) const int FOG = 0;
layout(constant_id = 5) const float EXPOSURE = 1.0;
layout(set = 0, binding = 0) uniform Scene { mat4 view_projection; mat4 joint[32]; vec4 sun; };
layout(set = 0, binding = 1) uniform sampler2D base_colour;
layout(set = 0, binding = 2) uniform sampler2D normal_map;
layout(set = 0, binding = 3) readonly buffer Lights { vec4 lights[]; };
layout(location = 0) in vec3 world;
layout(location = 1) in vec3 world_normal;
layout(location = 2) in vec2 uv;
layout(location = 0) out vec4 colour;

vec3 shade(vec3 albedo, vec3 n, vec3 v, vec3 l)
{
    float specular = pow(max(dot(n, normalize(v + l)), 0.0), 32.0);
    return max(dot(n, l), 0.0) * (albedo + 0.25 * specular);
}

void main()
{
    vec3 n = normalize(world_normal);
    vec4 texel = texture(base_colour, uv);
    if (NORMAL_MAP != 0) {
        n = normalize(n + 0.5 * texture(normal_map, uv).xyz - 0.25);
    }
    vec3 v = normalize(-world);
    vec3 sum = shade(texel.rgb, n, v, sun.xyz) * sun.w;
    [[dont_unroll]] for (int i = 0; i < LIGHTS; i++) {
        vec3 to_light = lights[2 * i].xyz - world;
        float falloff = lights[2 * i].w / max(dot(to_light, to_light), 0.01);
        sum += lights[2 * i + 1].rgb * falloff * shade(texel.rgb, n, v, normalize(to_light));
    }
    if (FOG != 0) {
        sum = mix(vec3(0.5, 0.6, 0.7), sum, exp(-0.01 * length(world)));
    }
    colour = vec4(vec3(1.0) - exp(-EXPOSURE * sum), texel.a);
}
