/* The canonical form of a create-info: one flat, explicit little-endian byte string, field by
 * field, that holds nothing of this process. Handles are replaced by the content digest of what
 * they stand for; ignored pointers are absent; outputs and what does not shape the object are left
 * out. From it come the object's digest, its equality (memcmp), and the recipe on disk. The form is
 * described in docs/decisions/0020-canonical-form.md; CANONICAL_VERSION changes with it.
 *
 *     encode:  create-info ──▶ bytes, digest, tail, verdict      (the program's thread, hot)
 *     decode:  bytes ──▶ create-info in one allocation           (bytes may come from a hostile
 * file)
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

#include "base/bytes.h"
#include "codec/digest.h"
#include "codec/rules.h"

#define CANONICAL_VERSION 1

/* Bytes; longer forms are neither made nor read. */
#define CANONICAL_MAX_SIZE (16u << 20)

enum canonical_verdict {
    CANONICAL_SHARE,    /* equal keys (bytes and tail): the same handle may be given out */
    CANONICAL_NODEDUPE, /* must be created each time; a cache may be given */
    CANONICAL_UNKNOWN   /* pass through untouched; there are no bytes */
};

/* Why the verdict is not CANONICAL_SHARE: the first cause found. */
enum canonical_cause {
    CANONICAL_CAUSE_NONE,
    CANONICAL_CAUSE_STRUCT,          /* hazard 17: a struct that nobody has reviewed */
    CANONICAL_CAUSE_FLAG,            /* hazard 17: likewise a flag bit, or a dynamic state */
    CANONICAL_CAUSE_HANDLE,          /* a handle that the resolver does not know */
    CANONICAL_CAUSE_INVALID,         /* a sType, pointer or count that no valid program passes */
    CANONICAL_CAUSE_SIZE,            /* longer than CANONICAL_MAX_SIZE */
    CANONICAL_CAUSE_MEMORY,          /* out of memory */
    CANONICAL_CAUSE_CACHE_FORBIDDEN, /* hazard 25 */
    CANONICAL_CAUSE_IDENTITY,        /* hazards 6, 13 */
    CANONICAL_CAUSE_SIDE_EFFECT,     /* hazard 32 */
    CANONICAL_CAUSE_DERIVATIVE,      /* hazard 24 */
    CANONICAL_CAUSE_DEFERRED,        /* hazard 24: VK_NV_ray_tracing */
    CANONICAL_CAUSE_DOUBT            /* hazard 16: whether a pointer is ignored cannot be told */
};

/* What a handle stands for, as the object table knows it. */
struct canonical_object {
    struct digest content;      /* digest of its own canonical bytes */
    uint64_t serial;            /* of the live object, never used again, never 0 */
    bool by_serial;             /* its own tail is not empty: content alone does not name it */
    struct render_pass_use use; /* of a render pass: rules_render_pass, rules_render_pass_2 */
};

/* Code that a stage brings along instead of a module (hazard 31), as the module that could be made
 * of it. */
struct canonical_inline_module {
    struct digest content; /* of its form */
    const void *form;
    size_t form_size;
    const void *code; /* the program's own */
    size_t code_size;
};

/* What the encoder asks of its surroundings. */
struct canonical_context {
    /* False: not known; the create-info that names it is CANONICAL_UNKNOWN. Called for live handles
     * that are not null, in the order in which they stand in the form. */
    bool (*resolve)(void *user, VkObjectType type, uint64_t handle,
                    struct canonical_object *ret_object);
    /* Told of each inline module, borrowed during the call; may be NULL. */
    void (*inline_module)(void *user, const struct canonical_inline_module *module);
    void *user;
    /* Pipeline layouts are named by serial: the physical device is below Vulkan 1.3 and
     * VK_KHR_maintenance4 is not enabled (hazard 11). */
    bool layouts_by_serial;
    /* VkPhysicalDeviceBlendOperationAdvancedFeaturesEXT::advancedBlendCoherentOperations is enabled
     * (hazard 16: it decides whether blend attachments are ignored). */
    bool blend_advanced_coherent;
};

/* The result. Zero-initialize once, use again for each create-info: memory is kept and grows to
 * what is needed, so that encoding allocates nothing in the long run. */
struct canonical {
    /* The live key: the canonical form, `size` bytes, then the identity tail: the serials, 8 bytes
     * each, of what content does not name (hazards 11, 12, 13). The tail never reaches the disk. */
    struct bytes key;
    size_t size;
    struct digest digest;     /* of the canonical form: the object's content digest */
    struct digest key_digest; /* of the whole key */
    enum canonical_verdict verdict;
    enum canonical_cause cause;
    bool complete; /* the form holds all it takes to make the object again, on any driver; the form
                    * of an object that is not is different from that of every object that is */
    /* Of a shader module: the program's own code, which is not copied. The form holds its digest,
     * so that a table compares forms and then code. */
    const void *code;
    size_t code_size; /* bytes */
    struct digest code_digest;
    struct bytes tail; /* scratch */
};

/* Encodes the create-info that starts with the sType at `create_info`, with everything it points to
 * that is live. Never reads what the specification says is ignored. Where the verdict is
 * CANONICAL_UNKNOWN, key, digests and code are empty. */
void canonical_encode(const struct canonical_context *context, const void *create_info,
                      struct canonical *canonical);

/* Releases the memory and zeroes the struct. */
void canonical_free(struct canonical *canonical);

/* The cause's stable identifier ("unknown_struct"), "" for none. Static storage. */
const char *canonical_cause_id(enum canonical_cause cause);

/* What the decoder asks of its surroundings; each answers false where there is none, and decoding
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
 * not set, ignored pointers are NULL. */
void *canonical_decode(const void *bytes, size_t size, const struct canonical_sources *sources);

/* Calls visit for each digest that the form refers to: with the type of the handle, or with
 * VK_OBJECT_TYPE_UNKNOWN for the code of a shader module. False, perhaps after some calls, where a
 * byte is wrong or visit says so. */
bool canonical_references(const void *bytes, size_t size,
                          bool (*visit)(void *user, VkObjectType type, struct digest content),
                          void *user);

/* The sType that the form starts with, VK_STRUCTURE_TYPE_MAX_ENUM where it is too short. */
VkStructureType canonical_stype(const void *bytes, size_t size);

#endif
