// SPDX-License-Identifier: Apache-2.0
#version 450
// One arithmetic operation over two tensors, the second of which may repeat by row.
layout(local_size_x_id = 0) in;
layout(constant_id = 1) const int OPERATION = 0; // add, multiply, divide, greater
layout(constant_id = 2) const int BROADCAST = 0;
layout(constant_id = 3) const float GAIN = 1.0;
layout(set = 0, binding = 0) readonly buffer A { float a[]; };
layout(set = 0, binding = 1) readonly buffer B { float b[]; };
layout(set = 0, binding = 2) buffer C { float c[]; };
layout(push_constant) uniform Shape { uvec4 shape; }; // rows, columns

void main()
{
    uint position = gl_GlobalInvocationID.x;
    if (position >= shape.x * shape.y) {
        return;
    }
    float x = GAIN * a[position];
    float y = b[BROADCAST != 0 ? position % shape.y : position];
    switch (OPERATION) {
    case 0:
        c[position] = x + y;
        break;
    case 1:
        c[position] = x * y;
        break;
    case 2:
        c[position] = x / (abs(y) + 1.0);
        break;
    default:
        c[position] = x > y ? 1.0 : 0.0;
        break;
    }
}
