// SPDX-License-Identifier: Apache-2.0
#version 450
#extension GL_EXT_control_flow_attributes : require
// Bloom taps, tone mapping, vignette and dither in one pass.
layout(constant_id = 2) const int TAPS = 4;
layout(constant_id = 3) const int TONE_MAPPING = 0; // Reinhard, filmic, none
layout(constant_id = 4) const int VIGNETTE = 0;
layout(constant_id = 5) const float EXPOSURE = 1.0;
layout(set = 0, binding = 0) uniform sampler2D frame;
layout(location = 0) in vec2 uv;
layout(location = 0) out vec4 colour;

vec3 filmic(vec3 x)
{
    return clamp(x * (2.51 * x + 0.03) / (x * (2.43 * x + 0.59) + 0.14), 0.0, 1.0);
}

void main()
{
    vec3 sum = texture(frame, uv).rgb;
    [[dont_unroll]] for (int i = 0; i < TAPS; i++) {
        float angle = 6.2831853 * float(i) / float(TAPS);
        sum += 0.25 * max(texture(frame, uv + 0.01 * vec2(cos(angle), sin(angle))).rgb - 1.0, 0.0);
    }
    sum *= EXPOSURE;
    if (TONE_MAPPING == 0) {
        sum = sum / (1.0 + sum);
    } else if (TONE_MAPPING == 1) {
        sum = filmic(sum);
    }
    if (VIGNETTE != 0) {
        vec2 d = uv - 0.5;
        sum *= 1.0 - dot(d, d);
    }
    float noise = fract(sin(dot(gl_FragCoord.xy, vec2(12.9898, 78.233))) * 43758.5453);
    colour = vec4(sum + (noise - 0.5) / 255.0, 1.0);
}
