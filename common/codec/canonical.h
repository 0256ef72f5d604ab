// SPDX-License-Identifier: Apache-2.0
/* The canonical form of a create-info: one flat, explicit little-endian byte string, field by
 * field, that holds nothing of this process. Handles are replaced by the content digest of what
 * they stand for; ignored pointers are absent; outputs and what does not shape the object are left
 * out. From it come the object's digest, its equality (memcmp), and the recipe on disk. The form is
 * described in docs/decisions/0020-canonical-form.md; CANONICAL_VERSION changes with it.
 *
 *     encode:  create-info ──▶ bytes, digest, tail, verdict, rules     (the program's thread, hot)
 *     decode:  bytes ──▶ create-info in one allocation     (bytes may come from a hostile file)
 *
 * Create-infos known: compute, graphics, ray tracing (KHR, NV) pipelines, shader module, descriptor
 * set layout, pipeline layout, descriptor update template, sampler, YCbCr conversion, render pass
 * (1 and 2). Thread-safe as long as each struct canonical belongs to one thread. */
#ifndef WARMPIPE_CODEC_CANONICAL_H
#define WARMPIPE_CODEC_CANONICAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <vulkan/vulkan.h>

#include "common/base/bytes.h"
#include "common/base/digest.h"

#define CANONICAL_VERSION 1

/* Bytes; longer forms are neither made nor read. */
#define CANONICAL_MAX_SIZE (16u << 20)

enum canonical_verdict {
    CANONICAL_SHARE,    /* equal keys (bytes and tail): the same handle may be given out */
    CANONICAL_NODEDUPE, /* must be created each time; a cache may be given */
    CANONICAL_UNKNOWN   /* neither shared nor recorded; there are no bytes */
};

/* Why the verdict is not CANONICAL_SHARE: the first cause that was found. */
enum canonical_cause {
    CANONICAL_CAUSE_NONE,
    CANONICAL_CAUSE_STRUCT,          /* a struct that nobody has reviewed (hazard 17) */
    CANONICAL_CAUSE_FLAG,            /* likewise a flag bit, or a dynamic state */
    CANONICAL_CAUSE_HANDLE,          /* a handle that the resolver does not know */
    CANONICAL_CAUSE_INVALID,         /* a sType, pointer or count that no valid program passes */
    CANONICAL_CAUSE_SIZE,            /* longer than CANONICAL_MAX_SIZE */
    CANONICAL_CAUSE_MEMORY,          /* out of memory */
    CANONICAL_CAUSE_CACHE_FORBIDDEN, /* pipeline binaries, captured data (hazard 25) */
    CANONICAL_CAUSE_IDENTITY,        /* equal objects can be told apart (hazards 6, 13) */
    CANONICAL_CAUSE_SIDE_EFFECT,     /* the creation has effects of its own (hazard 32) */
    CANONICAL_CAUSE_DERIVATIVE,      /* derives from another pipeline (hazard 24) */
    CANONICAL_CAUSE_DEFERRED,        /* compiled later: VK_NV_ray_tracing (hazard 24) */
    CANONICAL_CAUSE_DOUBT            /* it is unclear whether a pointer is ignored (hazard 16) */
};

/* What one element of a vkCreate*Pipelines call allows: two verdicts (docs/decisions/0075), and
 * other facts that decide how a call is treated. */
struct pipeline_rules {
    /* It may be shared and recorded: every live struct, flag bit and dynamic state is known (hazard
     * 17). Otherwise no byte may be changed on its way to the driver. */
    bool known;
    /* It may be given a cache, known or not: nothing in it forbids one (hazard 25: a struct of
     * FORBID_CACHE in rules.def, captured data; VUID-vkCreateComputePipelines-pNext-09616 and
     * -09617, and their like for the other commands), and no flag bit is unknown, because such a
     * bit may forbid one. The cache is a parameter of the whole call. */
    bool cacheable;
    bool fail_on_compile_required;
    bool early_return;
    bool derivative;      /* derives from another pipeline (hazard 24) */
    bool library;         /* others may be made of it */
    uint32_t stage_count; /* as the create-info says; 0 where its stages are ignored */
    uint64_t flags; /* the effective ones: those of VkPipelineCreateFlags2CreateInfo where it is
                     * chained (hazard 21) */
    /* The program's own, or NULL: its outputs are the program's (hazards 28, 29). */
    const VkPipelineCreationFeedbackCreateInfo *feedback;
};

/* How many stages a VkPipelineCreationFeedbackCreateInfo of ours names: those of the pipeline, but
 * none with ray tracing, for which RADV of Mesa 22 reads past the stages that it made of them.
 * VUID-VkRayTracingPipelineCreateInfoKHR-pipelineStageCreationFeedbackCount-06652 allows either. */
static inline uint32_t canonical_feedback_stages(VkStructureType type, uint32_t stage_count)
{
    return type == VK_STRUCTURE_TYPE_RAY_TRACING_PIPELINE_CREATE_INFO_KHR ? 0 : stage_count;
}

/* Which subpasses of a render pass use a color, a depth or stencil attachment: one bit each. It
 * decides what a pipeline may leave dangling (hazard 16), so it is kept with the render pass. */
#define RENDER_PASS_USE_SUBPASSES 64

struct render_pass_use {
    uint64_t known; /* subpasses that there are, of the first 64 */
    uint64_t color;
    uint64_t depth_stencil;
};

/* Of VkRenderPassCreateInfo and VkRenderPassCreateInfo2; zeros for any other create-info. */
void canonical_render_pass_use(const void *create_info, struct render_pass_use *ret_use);

/* What a handle stands for, as the object table knows it. */
struct canonical_object {
    struct digest content;      /* digest of its own canonical bytes: public, for recipes */
    struct digest name;         /* live_name of it: what live keys know its content by */
    uint64_t serial;            /* of the live object, never used again, never 0 */
    bool by_serial;             /* its own tail holds a serial: content does not name it */
    struct render_pass_use use; /* of a render pass: canonical_render_pass_use */
};

/* Inline code of a stage, in place of a module (hazard 31), as the module that could be made of it.
 */
struct canonical_inline_module {
    struct digest content; /* of its form */
    const void *form;
    size_t form_size;
    const void *code; /* the program's own */
    size_t code_size;
};

/* The bit of a stage with inline code, in 16 bits: stages are counted as in the create-info, and
 * the last bit is for all further ones. The form does not tell this, but some drivers treat such
 * code as another pipeline than a module with it (Mesa 26.1). */
static inline unsigned canonical_inline_bit(size_t stage)
{
    return 1u << (stage < 15 ? stage : 15);
}

/* The encoder's questions to its caller. */
struct canonical_context {
    /* False: not known; the create-info that names it is CANONICAL_UNKNOWN. Called for live handles
     * that are not null, in the order in which they stand in the form. */
    bool (*resolve)(void *user, VkObjectType type, uint64_t handle,
                    struct canonical_object *ret_object);
    /* Called for each inline module, borrowed during the call; may be NULL. */
    void (*inline_module)(void *user, const struct canonical_inline_module *module);
    void *user;
    /* The key of live keys; NULL: nobody wants live keys, which then hold serials only. */
    const struct live_key *live_key;
    /* Pipeline layouts are named by serial: the physical device is below Vulkan 1.3 and
     * VK_KHR_maintenance4 is not enabled (hazard 11). */
    bool layouts_by_serial;
    /* VkPhysicalDeviceBlendOperationAdvancedFeaturesEXT::advancedBlendCoherentOperations is enabled
     * (hazard 16: it decides whether blend attachments are ignored). */
    bool blend_advanced_coherent;
};

/* The result of an encoding. Zero-initialize it once and reuse it: memory is kept and grows as
 * needed, so encoding allocates nothing in the long run. */
struct canonical {
    /* The live key: the canonical form (`size` bytes), then the identity tail. For each handle in
     * the form, in order, the tail holds what the public digest does not say: the name of its
     * content, 16 bytes (row 61), or its serial, 8 bytes, if content is not enough (hazards 11, 12,
     * 13). The tail never reaches the disk. */
    struct bytes key;
    size_t size;
    bool by_serial;           /* the tail holds a serial */
    struct digest digest;     /* of the canonical form: the object's content digest */
    struct digest key_digest; /* of the whole key: only a hash */
    enum canonical_verdict verdict;
    enum canonical_cause cause;
    struct pipeline_rules rules; /* of a pipeline, whatever the verdict */
    bool complete; /* the form suffices to make the object again, on any driver; an incomplete form
                      differs from the form of every complete object */
    /* Of a shader module: the program's own code, which is not copied. The form holds its digest,
     * so that a table compares forms and then code. */
    const void *code;
    size_t code_size; /* bytes */
    struct digest code_digest;
    struct bytes tail; /* scratch */
};

/* Encodes the create-info that starts with the sType at `create_info`, with everything it points to
 * that is live, and reads a pipeline's rules in the same walk. Never reads what the specification
 * says is ignored. Where the verdict is CANONICAL_UNKNOWN, key, digests and code are empty. */
void canonical_encode(const struct canonical_context *context, const void *create_info,
                      struct canonical *canonical);

/* The rules of a pipeline alone, for callers that know no handles: the same walk, which writes
 * nothing and allocates nothing. Neither known nor cacheable where it is no pipeline's. */
void canonical_rules(const void *create_info, struct pipeline_rules *ret_rules);

/* Releases the memory and zeroes the struct. */
void canonical_free(struct canonical *canonical);

/* The decoder's questions to its caller; each returns false if there is no answer, and decoding
 * fails. `type` is that of the handle; `content` is never all zeros. */
struct canonical_sources {
    bool (*handle)(void *user, VkObjectType type, struct digest content, uint64_t *ret_handle);
    /* `size` bytes of code, aligned to 4, that live as long as the decoded create-info. Only asked
     * for shader modules. */
    bool (*code)(void *user, struct digest content, size_t size, const void **ret_code);
    void *user;
};

/* The create-info that the canonical form stands for, in one allocation that the caller frees with
 * free(); it starts with its sType. NULL where a byte is wrong, something is not known here, a
 * source has no answer, or memory is out. Reads nothing outside the bytes, whatever they hold, and
 * takes time and memory in proportion to their size. Flags that a key leaves out (hazard 22) are
 * not set, ignored pointers are NULL, and so are counts that are ignored with them 0; but a few
 * ignored arrays are there, and hold zeros (decode.c says which). */
void *canonical_decode(const void *bytes, size_t size, const struct canonical_sources *sources);

/* Calls visit for each digest that the form refers to: with the type of the handle, or with
 * VK_OBJECT_TYPE_UNKNOWN for the code of a shader module. False, perhaps after some calls, where a
 * byte is wrong or visit says so. */
bool canonical_references(const void *bytes, size_t size,
                          bool (*visit)(void *user, VkObjectType type, struct digest content),
                          void *user);

/* The first struct of this sType in a chain, or NULL; looks at the first 64 structs, more than any
 * real program has. */
const void *canonical_find_struct(const void *next, VkStructureType stype);

/* The sType that the form starts with, VK_STRUCTURE_TYPE_MAX_ENUM where it is too short. */
VkStructureType canonical_stype(const void *bytes, size_t size);

/* The type of object that a create-info of this sType creates; VK_OBJECT_TYPE_UNKNOWN: not one that
 * a pipeline is made of. */
VkObjectType canonical_type_of(VkStructureType stype);

/* How live keys name parts of an object whose bytes may be gone: by a keyed hash, SipHash-2-4 with
 * 128 bits of output, whose key is drawn for this process. An attacker can make two inputs with one
 * public digest (digest.h), so that a program would get the attacker's shader in place of its own.
 * That is impossible without the key. Such names mean nothing outside this process and never reach
 * the disk.
 *
 * A byte takes about half a nanosecond, so names are made for created objects, never for found
 * ones. */

struct live_key {
    uint64_t words[2];
};

/* The key of this process, drawn from getrandom(2) by the first call. NULL: there is none (a
 * kernel or a sandbox without getrandom), and no handle may be shared. Thread-safe, never waits. */
const struct live_key *live_key_of_process(void);

/* SipHash-2-4-128 of `size` bytes. Thread-safe, allocates nothing. */
struct digest live_hash(const struct live_key *key, const void *data, size_t size);

/* The name of an object with this form (a live key, with the names of its parts) and, for a shader
 * module, this code; code_size 0: none. */
struct digest live_name(const struct live_key *key, const void *form, size_t form_size,
                        const void *code, size_t code_size);

/* A canonical form as text for people: every field of the create-info by its name. Not part of the
 * layer, whose tables have no names. */

/* Calls `field` for each field, in the order of the form. The path names the members,
 * "stage.pSpecializationInfo.pMapEntries[0].offset", and structs of a chain by their type,
 * "pNext.VkPipelineRenderingCreateInfo.viewMask". Objects are digests, enumerants and flags have
 * the registry's names. The strings are borrowed for the call; what comes from the form may hold
 * any characters. False, perhaps after some calls: the form is malformed, or memory is out.
 * Thread-safe. */
bool canonical_describe(const void *bytes, size_t size,
                        void (*field)(void *user, const char *path, const char *value), void *user);

#endif
