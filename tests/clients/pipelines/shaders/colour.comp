// SPDX-License-Identifier: Apache-2.0
#version 450
// YCbCr to RGB and back to linear light, for three standards and two ranges.
layout(local_size_x_id = 0, local_size_y_id = 1) in;
layout(constant_id = 2) const int STANDARD = 0; // BT.601, BT.709, BT.2020
layout(constant_id = 3) const int FULL_RANGE = 0;
layout(constant_id = 4) const float GAIN = 1.0;
layout(set = 0, binding = 0) uniform sampler2D luma;
layout(set = 0, binding = 1) uniform sampler2D chroma;
layout(set = 0, binding = 2, rgba16f) writeonly uniform image2D target;

vec3 to_linear(vec3 c)
{
    bvec3 low = lessThanEqual(c, vec3(0.04045));
    return mix(pow((c + 0.055) / 1.055, vec3(2.4)), c / 12.92, low);
}

void main()
{
    ivec2 size = imageSize(target);
    ivec2 position = ivec2(gl_GlobalInvocationID.xy);
    if (any(greaterThanEqual(position, size))) {
        return;
    }
    vec2 uv = (vec2(position) + 0.5) / vec2(size);
    float y = textureLod(luma, uv, 0.0).r;
    vec2 c = textureLod(chroma, uv, 0.0).rg - 0.5;
    if (FULL_RANGE == 0) {
        y = (y - 16.0 / 255.0) * 255.0 / 219.0;
        c *= 255.0 / 224.0;
    }
    vec2 k = STANDARD == 0 ? vec2(0.299, 0.114)
                           : (STANDARD == 1 ? vec2(0.2126, 0.0722) : vec2(0.2627, 0.0593));
    vec3 rgb;
    rgb.r = y + 2.0 * (1.0 - k.x) * c.y;
    rgb.b = y + 2.0 * (1.0 - k.y) * c.x;
    rgb.g = (y - k.x * rgb.r - k.y * rgb.b) / (1.0 - k.x - k.y);
    imageStore(target, position, vec4(GAIN * to_linear(clamp(rgb, 0.0, 1.0)), 1.0));
}
