// SPDX-License-Identifier: Apache-2.0
#include "shaders.h"

#include "util.h"

#include "spirv/activation_comp.h"
#include "spirv/blur_comp.h"
#include "spirv/colour_comp.h"
#include "spirv/convolution_comp.h"
#include "spirv/digest_comp.h"
#include "spirv/elementwise_comp.h"
#include "spirv/gather_comp.h"
#include "spirv/histogram_comp.h"
#include "spirv/hit_rchit.h"
#include "spirv/matmul_comp.h"
#include "spirv/mesh_vert.h"
#include "spirv/normalize_comp.h"
#include "spirv/perceptron_comp.h"
#include "spirv/postprocess_frag.h"
#include "spirv/rays_rgen.h"
#include "spirv/reduction_comp.h"
#include "spirv/rotary_comp.h"
#include "spirv/scan_comp.h"
#include "spirv/screen_vert.h"
#include "spirv/sky_rmiss.h"
#include "spirv/softmax_comp.h"
#include "spirv/surface_frag.h"
#include "spirv/transpose_comp.h"
#include "spirv/upsample_comp.h"

/* clang-format off */
#define SPIRV(array) {array, sizeof(array)}
/* clang-format on */

/* clang-format off: one line tells what, one how it varies */
static const struct shader_kind compute[] = {
    {"elementwise",
     {SPIRV(elementwise_comp)},
     "bbb",
     16,
     {{0, 3, {32, 64, 128}}, {1, 4, {0, 1, 2, 3}}, {2, 2, {0, 1}}},
     3},
    {"activation",
     {SPIRV(activation_comp)},
     "bb",
     16,
     {{0, 3, {32, 64, 128}}, {1, 5, {0, 1, 2, 3, 4}}, {2, 2, {0, 1}}},
     3},
    {"matmul",
     {SPIRV(matmul_comp)},
     "bbb",
     16,
     {{0, 2, {4, 8}}, {1, 3, {0, 1, 2}}, {2, 2, {0, 1}}},
     3},
    {"rotary",
     {SPIRV(rotary_comp)},
     "bb",
     16,
     {{0, 2, {32, 64}}, {1, 2, {0, 1}}, {2, 2, {0, 1}}},
     3},
    {"softmax",
     {SPIRV(softmax_comp)},
     "bb",
     16,
     {{0, 2, {32, 64}}, {1, 2, {0, 1}}, {2, 2, {0, 1}}},
     3},
    {"transpose",
     {SPIRV(transpose_comp)},
     "bb",
     16,
     {{0, 3, {8, 4, 16}}, {1, 2, {0, 1}}, {2, 2, {0, 1}}},
     3},
    {"gather",
     {SPIRV(gather_comp)},
     "bbb",
     16,
     {{0, 3, {32, 64, 128}}, {1, 2, {16, 32}}, {2, 2, {0, 1}}},
     3},
    {"normalize",
     {SPIRV(normalize_comp)},
     "bbb",
     16,
     {{0, 2, {32, 64}}, {1, 2, {0, 1}}, {2, 2, {0, 1}}},
     3},
    {"upsample",
     {SPIRV(upsample_comp)},
     "bb",
     16,
     {{0, 2, {8, 16}}, {1, 2, {4, 8}}, {2, 3, {2, 3, 4}}, {3, 2, {0, 1}}},
     4},
    {"histogram",
     {SPIRV(histogram_comp)},
     "bb",
     16,
     {{0, 3, {32, 64, 128}}, {1, 3, {16, 32, 64}}, {2, 2, {0, 1}}},
     3},
    {"blur",
     {SPIRV(blur_comp)},
     "Si",
     0,
     {{0, 2, {8, 16}}, {1, 2, {4, 8}}, {2, 2, {1, 2}}, {3, 2, {0, 1}}},
     4},
    {"reduction",
     {SPIRV(reduction_comp)},
     "bb",
     16,
     {{0, 2, {32, 64}}, {1, 4, {0, 1, 2, 3}}, {2, 2, {1, 2}}},
     3},
    {"colour",
     {SPIRV(colour_comp)},
     "SSi",
     0,
     {{0, 2, {8, 16}}, {1, 2, {4, 8}}, {2, 3, {0, 1, 2}}, {3, 2, {0, 1}}},
     4},
    {"scan", {SPIRV(scan_comp)}, "bb", 16, {{0, 2, {32, 64}}, {1, 2, {0, 1}}, {2, 2, {0, 1}}}, 3},
    {"convolution",
     {SPIRV(convolution_comp)},
     "bbbb",
     16,
     {{0, 2, {8, 16}}, {1, 2, {4, 8}}, {2, 2, {1, 3}}, {3, 2, {1, 2}}, {4, 4, {0, 1, 2, 3}}},
     5},
};

static const struct shader_kind heavy[] = {
    {"digest", {SPIRV(digest_comp)}, "bb", 16, {{0, 2, {32, 64}}, {1, 3, {10, 12, 11}}}, 2},
    {"perceptron",
     {SPIRV(perceptron_comp)},
     "bub",
     16,
     {{0, 2, {32, 64}}, {1, 2, {2, 1}}, {2, 3, {0, 1, 2}}},
     3},
};

static const struct shader_kind graphics[] = {
    {"mesh",
     {SPIRV(mesh_vert), SPIRV(surface_frag)},
     "ussb",
     64,
     {{0, 2, {0, 1}}, {2, 3, {0, 1, 2}}, {3, 2, {0, 1}}, {4, 2, {0, 1}}},
     5},
    {"screen",
     {SPIRV(screen_vert), SPIRV(postprocess_frag)},
     "s",
     0,
     {{0, 2, {0, 1}}, {2, 3, {0, 2, 4}}, {3, 3, {0, 1, 2}}, {4, 2, {0, 1}}},
     5},
};

static const struct shader_kind raytracing[] = {
    {"rays",
     {SPIRV(rays_rgen), SPIRV(sky_rmiss), SPIRV(hit_rchit)},
     "ai",
     0,
     {{0, 3, {1, 2, 4}}, {1, 2, {0, 1}}},
     2},
};
/* clang-format on */

const struct shader_kinds shaders_compute = {compute, COUNT_OF(compute)};
const struct shader_kinds shaders_heavy = {heavy, COUNT_OF(heavy)};
const struct shader_kinds shaders_graphics = {graphics, COUNT_OF(graphics)};
const struct shader_kinds shaders_raytracing = {raytracing, COUNT_OF(raytracing)};

struct specialization shaders_specialize(const struct shader_kind *kind, uint32_t seed,
                                         uint32_t variant)
{
    struct specialization result = {0};
    uint32_t rest = variant;
    for (uint32_t i = 0; i < MAX_CONSTANTS && kind->constants[i].choice_count; i++) {
        const struct constant *constant = &kind->constants[i];
        result.ids[result.count] = constant->id;
        result.values[result.count++] = constant->choices[rest % constant->choice_count];
        rest /= constant->choice_count;
    }
    /* As a float this is a number from 1 to 2, each with its own mantissa. */
    result.ids[result.count] = kind->unique_id;
    result.values[result.count++] = 0x3f800000u + seed * 16384u + variant;
    return result;
}
