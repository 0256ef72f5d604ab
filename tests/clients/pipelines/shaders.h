// SPDX-License-Identifier: Apache-2.0
/* What the program has to compile: shaders, their interfaces, and how they are varied. */
#ifndef PIPELINES_SHADERS_H
#define PIPELINES_SHADERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { MAX_CONSTANTS = 8, MAX_CHOICES = 6, MAX_STAGES = 4 };

struct spirv {
    const uint32_t *words;
    size_t size; /* bytes */
};

/* A specialization constant and the values that it takes in turn. */
struct constant {
    uint32_t id;
    uint32_t choice_count;
    uint32_t choices[MAX_CHOICES];
};

struct shader_kind {
    const char *name;
    struct spirv stages[MAX_STAGES]; /* compute; vertex, fragment; raygen, miss, closest hit */
    /* One letter a binding: b storage buffer, u uniform buffer, s combined image sampler,
     * S the same with an immutable sampler, i storage image, a acceleration structure. */
    const char *bindings;
    uint32_t push_constant_size;
    struct constant constants[MAX_CONSTANTS];
    /* The constant that is different in each pipeline of the kind. */
    uint32_t unique_id;
};

struct shader_kinds {
    const struct shader_kind *kinds;
    uint32_t count;
};

extern const struct shader_kinds shaders_compute;
extern const struct shader_kinds shaders_heavy;
extern const struct shader_kinds shaders_graphics;
extern const struct shader_kinds shaders_raytracing;

/* The specialization of the `variant`-th pipeline of a kind. */
struct specialization {
    uint32_t count;
    uint32_t ids[MAX_CONSTANTS];
    uint32_t values[MAX_CONSTANTS];
};

/* The choices in turn, each combination once before any comes again; two different pairs of seed
 * (below 512) and variant (below 16384) never give the same values. */
struct specialization shaders_specialize(const struct shader_kind *kind, uint32_t seed,
                                         uint32_t variant);

#endif
