// SPDX-License-Identifier: Apache-2.0
#version 450
#extension GL_EXT_control_flow_attributes : require
// SHA-256 of one block per invocation, all rounds unrolled: one of the two heavy shaders.
layout(local_size_x_id = 0) in;
layout(constant_id = 1) const uint ROUNDS = 64;
layout(constant_id = 2) const uint SALT = 0;
layout(set = 0, binding = 0) readonly buffer Source { uint source[]; };
layout(set = 0, binding = 1) buffer Target { uint target[]; };
layout(push_constant) uniform Shape { uvec4 shape; };

const uint K[64] = uint[64](
    0x428a2f98u, 0x71374491u, 0xb5c0fbcfu, 0xe9b5dba5u, 0x3956c25bu, 0x59f111f1u, 0x923f82a4u,
    0xab1c5ed5u, 0xd807aa98u, 0x12835b01u, 0x243185beu, 0x550c7dc3u, 0x72be5d74u, 0x80deb1feu,
    0x9bdc06a7u, 0xc19bf174u, 0xe49b69c1u, 0xefbe4786u, 0x0fc19dc6u, 0x240ca1ccu, 0x2de92c6fu,
    0x4a7484aau, 0x5cb0a9dcu, 0x76f988dau, 0x983e5152u, 0xa831c66du, 0xb00327c8u, 0xbf597fc7u,
    0xc6e00bf3u, 0xd5a79147u, 0x06ca6351u, 0x14292967u, 0x27b70a85u, 0x2e1b2138u, 0x4d2c6dfcu,
    0x53380d13u, 0x650a7354u, 0x766a0abbu, 0x81c2c92eu, 0x92722c85u, 0xa2bfe8a1u, 0xa81a664bu,
    0xc24b8b70u, 0xc76c51a3u, 0xd192e819u, 0xd6990624u, 0xf40e3585u, 0x106aa070u, 0x19a4c116u,
    0x1e376c08u, 0x2748774cu, 0x34b0bcb5u, 0x391c0cb3u, 0x4ed8aa4au, 0x5b9cca4fu, 0x682e6ff3u,
    0x748f82eeu, 0x78a5636fu, 0x84c87814u, 0x8cc70208u, 0x90befffau, 0xa4506cebu, 0xbef9a3f7u,
    0xc67178f2u);

uint rotate(uint x, int n)
{
    return (x >> n) | (x << (32 - n));
}

void main()
{
    uint block = gl_GlobalInvocationID.x;
    if (block >= shape.x) {
        return;
    }
    uint w[16];
    [[unroll]] for (int i = 0; i < 16; i++) {
        w[i] = source[block * 16 + i] ^ SALT;
    }
    uint a = 0x6a09e667u, b = 0xbb67ae85u, c = 0x3c6ef372u, d = 0xa54ff53au;
    uint e = 0x510e527fu, f = 0x9b05688cu, g = 0x1f83d9abu, h = 0x5be0cd19u;
    [[unroll]] for (int i = 0; i < ROUNDS; i++) {
        if (i >= 16) {
            uint x = w[(i + 1) & 15], y = w[(i + 14) & 15];
            w[i & 15] += w[(i + 9) & 15] + (rotate(x, 7) ^ rotate(x, 18) ^ (x >> 3)) +
                         (rotate(y, 17) ^ rotate(y, 19) ^ (y >> 10));
        }
        uint t1 = h + (rotate(e, 6) ^ rotate(e, 11) ^ rotate(e, 25)) + ((e & f) ^ (~e & g)) +
                  K[i & 63] + w[i & 15];
        uint t2 = (rotate(a, 2) ^ rotate(a, 13) ^ rotate(a, 22)) + ((a & b) ^ (a & c) ^ (b & c));
        h = g, g = f, f = e, e = d + t1;
        d = c, c = b, b = a, a = t1 + t2;
    }
    target[block * 8 + 0] = a + 0x6a09e667u;
    target[block * 8 + 1] = b + 0xbb67ae85u;
    target[block * 8 + 2] = c + 0x3c6ef372u;
    target[block * 8 + 3] = d + 0xa54ff53au;
    target[block * 8 + 4] = e + 0x510e527fu;
    target[block * 8 + 5] = f + 0x9b05688cu;
    target[block * 8 + 6] = g + 0x1f83d9abu;
    target[block * 8 + 7] = h + 0x5be0cd19u;
}
