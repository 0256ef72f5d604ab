// SPDX-License-Identifier: Apache-2.0
#version 450
// Tiled matrix product through shared memory, with an optional activation.
layout(local_size_x_id = 0, local_size_y_id = 0) in;
layout(constant_id = 0) const int TILE = 8;
layout(constant_id = 1) const int ACTIVATION = 0; // none, ReLU, SiLU
layout(constant_id = 2) const int TRANSPOSED = 0;
layout(constant_id = 3) const float GAIN = 1.0;
layout(set = 0, binding = 0) readonly buffer A { float a[]; };
layout(set = 0, binding = 1) readonly buffer B { float b[]; };
layout(set = 0, binding = 2) buffer C { float c[]; };
layout(push_constant) uniform Shape { uvec4 shape; }; // rows, columns, inner, unused

shared float tile_a[TILE * TILE];
shared float tile_b[TILE * TILE];

void main()
{
    uint row = gl_GlobalInvocationID.y;
    uint column = gl_GlobalInvocationID.x;
    uint y = gl_LocalInvocationID.y;
    uint x = gl_LocalInvocationID.x;
    float sum = 0.0;
    for (uint base = 0; base < shape.z; base += TILE) {
        bool inside_a = row < shape.x && base + x < shape.z;
        bool inside_b = column < shape.y && base + y < shape.z;
        uint at_b = TRANSPOSED != 0 ? column * shape.z + base + y : (base + y) * shape.y + column;
        tile_a[y * TILE + x] = inside_a ? a[row * shape.z + base + x] : 0.0;
        tile_b[y * TILE + x] = inside_b ? b[at_b] : 0.0;
        barrier();
        for (int i = 0; i < TILE; i++) {
            sum = fma(tile_a[y * TILE + i], tile_b[i * TILE + x], sum);
        }
        barrier();
    }
    sum *= GAIN;
    if (ACTIVATION == 1) {
        sum = max(sum, 0.0);
    } else if (ACTIVATION == 2) {
        sum = sum / (1.0 + exp(-sum));
    }
    if (row < shape.x && column < shape.y) {
        c[row * shape.y + column] = sum;
    }
}
