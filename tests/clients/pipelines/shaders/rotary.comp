// SPDX-License-Identifier: Apache-2.0
#version 450
// Rotary position embedding, of neighbouring pairs or of halves.
layout(local_size_x_id = 0) in;
layout(constant_id = 1) const int HALVES = 0;
layout(constant_id = 2) const int SCALED = 0;
layout(constant_id = 3) const float BASE = 1.0;
layout(set = 0, binding = 0) readonly buffer Source { float source[]; };
layout(set = 0, binding = 1) buffer Target { float target[]; };
layout(push_constant) uniform Shape { uvec4 shape; }; // rows, columns

void main()
{
    uint pair = gl_GlobalInvocationID.x;
    uint half_columns = shape.y / 2;
    uint row = pair / half_columns;
    if (row >= shape.x) {
        return;
    }
    uint column = pair % half_columns;
    uint first = row * shape.y + (HALVES != 0 ? column : 2 * column);
    uint second = first + (HALVES != 0 ? half_columns : 1);
    float angle = float(row) * pow(10000.0 * BASE, -float(column) / float(half_columns));
    angle = SCALED != 0 ? 0.25 * angle : angle;
    float x = source[first], y = source[second];
    target[first] = x * cos(angle) - y * sin(angle);
    target[second] = x * sin(angle) + y * cos(angle);
}
