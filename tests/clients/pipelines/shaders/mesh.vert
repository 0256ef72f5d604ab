// SPDX-License-Identifier: Apache-2.0
#version 450
// A mesh, optionally moved by a joint a vertex.
layout(constant_id = 0) const int JOINTED = 0;
layout(constant_id = 1) const float SCALE = 1.0;
layout(location = 0) in vec3 position;
layout(location = 1) in vec3 normal;
layout(location = 2) in vec2 texture_coordinate;
layout(location = 3) in vec4 joints;
layout(set = 0, binding = 0) uniform Scene { mat4 view_projection; mat4 joint[32]; vec4 sun; };
layout(push_constant) uniform Object { mat4 model; };
layout(location = 0) out vec3 world;
layout(location = 1) out vec3 world_normal;
layout(location = 2) out vec2 uv;

void main()
{
    vec4 local = vec4(SCALE * position, 1.0);
    if (JOINTED != 0) {
        local = mix(local, joint[int(joints.x) & 31] * local, joints.y);
    }
    vec4 placed = model * local;
    world = placed.xyz;
    world_normal = mat3(model) * normal;
    uv = texture_coordinate;
    gl_Position = view_projection * placed;
}
