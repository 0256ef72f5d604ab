#version 450
// A mesh, optionally skinned with two joints a vertex.
layout(constant_id = 0) const int SKINNED = 0;
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
    mat4 placing = model;
    if (SKINNED != 0) {
        placing *= joint[int(joints.x) & 31] * joints.z + joint[int(joints.y) & 31] * joints.w;
    }
    vec4 placed = placing * vec4(SCALE * position, 1.0);
    world = placed.xyz;
    world_normal = mat3(placing) * normal;
    uv = texture_coordinate;
    gl_Position = view_projection * placed;
}
