#version 450
// Physically based shading of several lights (GGX), with optional normal map and fog.
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

vec3 shade(vec3 albedo, vec3 n, vec3 v, vec3 l, float roughness)
{
    vec3 h = normalize(v + l);
    float nl = max(dot(n, l), 0.0);
    float nv = max(dot(n, v), 1e-4);
    float nh = max(dot(n, h), 0.0);
    float a = roughness * roughness;
    float d = a / (3.14159 * pow(nh * nh * (a - 1.0) + 1.0, 2.0));
    float k = (roughness + 1.0) * (roughness + 1.0) / 8.0;
    float g = 1.0 / ((nl * (1.0 - k) + k) * (nv * (1.0 - k) + k));
    vec3 f = mix(vec3(0.04), vec3(1), pow(1.0 - max(dot(h, v), 0.0), 5.0));
    return nl * (albedo / 3.14159 + f * d * g / 4.0);
}

void main()
{
    vec3 n = normalize(world_normal);
    vec4 texel = texture(base_colour, uv);
    if (NORMAL_MAP != 0) {
        vec3 along = dFdx(world), across = dFdy(world);
        vec3 detail = texture(normal_map, uv).xyz * 2.0 - 1.0;
        n = normalize(mat3(normalize(along), normalize(across), n) * detail);
    }
    vec3 v = normalize(-world);
    vec3 sum = shade(texel.rgb, n, v, sun.xyz, 0.5) * sun.w;
    for (int i = 0; i < LIGHTS; i++) {
        vec3 to_light = lights[2 * i].xyz - world;
        float falloff = lights[2 * i].w / max(dot(to_light, to_light), 0.01);
        sum += lights[2 * i + 1].rgb * falloff * shade(texel.rgb, n, v, normalize(to_light), 0.4);
    }
    if (FOG != 0) {
        sum = mix(vec3(0.5, 0.6, 0.7), sum, exp(-0.01 * length(world)));
    }
    colour = vec4(vec3(1.0) - exp(-EXPOSURE * sum), texel.a);
}
