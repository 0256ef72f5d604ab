// SPDX-License-Identifier: Apache-2.0
// The objects of a device that an encoder and a decoder ask about.
#ifndef WARMPIPE_TESTS_HANDLES_H
#define WARMPIPE_TESTS_HANDLES_H

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include <vulkan/vulkan.h>

extern "C" {
#include "common/codec/canonical.h"
#include "common/codec/rules.h"
}

// Every handle stands for a content of its own.
class Handles {
  public:
    Handles()
    {
        context.resolve = &Handles::resolve;
        context.user = this;
        sources.handle = &Handles::find;
        sources.code = &Handles::find_code;
        sources.user = this;
    }

    canonical_context context = {};
    canonical_sources sources = {};
    render_pass_use use = {~0ull, ~0ull, ~0ull};
    bool by_serial = false;
    uint64_t unknown_handle = 0; // this one is not resolved
    std::map<std::pair<uint64_t, uint64_t>, std::vector<uint32_t>> codes;

    // A handle that stands for the object of this digest.
    uint64_t handle_of(digest content)
    {
        auto key = std::make_pair(content.low, content.high);
        auto found = handles_.find(key);
        if (found == handles_.end()) {
            found = handles_.emplace(key, next_made_ += 16).first;
            contents_[found->second] = content;
        }
        return found->second;
    }

    void keep_code(const canonical &encoded)
    {
        auto words = static_cast<const uint32_t *>(encoded.code);
        codes[{encoded.code_digest.low, encoded.code_digest.high}].assign(
            words, words + encoded.code_size / 4);
    }

  private:
    std::map<std::pair<uint64_t, uint64_t>, uint64_t> handles_;
    std::map<uint64_t, digest> contents_;
    uint64_t next_made_ = 1ull << 40;

    static bool resolve(void *user, VkObjectType type, uint64_t handle, canonical_object *object)
    {
        auto self = static_cast<Handles *>(user);
        if (handle == self->unknown_handle) {
            return false;
        }
        auto made = self->contents_.find(handle);
        if (made != self->contents_.end()) {
            object->content = made->second;
        } else {
            const uint64_t name[2] = {static_cast<uint64_t>(type), handle};
            object->content = digest_of(name, sizeof(name));
            self->handles_[{object->content.low, object->content.high}] = handle;
        }
        object->name = {handle, ~handle};
        object->serial = handle + 1;
        object->by_serial = self->by_serial;
        object->use = self->use;
        return true;
    }

    static bool find(void *user, VkObjectType, digest content, uint64_t *handle)
    {
        *handle = static_cast<Handles *>(user)->handle_of(content);
        return true;
    }

    static bool find_code(void *user, digest content, size_t size, const void **code)
    {
        auto self = static_cast<Handles *>(user);
        auto found = self->codes.find({content.low, content.high});
        if (found == self->codes.end() || found->second.size() * 4 != size) {
            return false;
        }
        *code = found->second.data();
        return true;
    }
};

#endif
