// SPDX-License-Identifier: Apache-2.0
// What disks, editors and enemies do to a file.
#ifndef WARMPIPE_TESTS_HOSTILE_DAMAGES_H
#define WARMPIPE_TESTS_HOSTILE_DAMAGES_H

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <random>
#include <string>

// Files that were tried in this process.
inline unsigned tried;

class Damages {
  protected:
    size_t draw(size_t below)
    {
        return below ? random_() % below : 0;
    }

    char draw_byte()
    {
        static const std::string telling = std::string("\0\1\x7f\x80\xff\n \"{}[]=#*", 16);
        return draw(2) ? static_cast<char>(random_()) : telling[draw(telling.size())];
    }

    // One damage, or a few.
    std::string damage(std::string content)
    {
        for (size_t i = 1 + draw(draw(4) ? 1 : 6); i > 0; i--) {
            const size_t at = draw(content.size() + 1);
            const size_t size = draw(std::min<size_t>(content.size() - at, 64) + 1);
            switch (draw(9)) {
            case 0:
            case 1:
            case 2:
                if (at < content.size()) {
                    content[at] = static_cast<char>(content[at] ^ 1 << draw(8));
                }
                break;
            case 3:
                content.resize(at);
                break;
            case 4:
                content.insert(at, size, draw_byte());
                break;
            case 5:
                std::fill_n(content.begin() + static_cast<std::ptrdiff_t>(at), size, '\0');
                break;
            case 6:
                content.insert(draw(content.size() + 1), content.substr(at, size));
                break;
            case 7:
                content.erase(at, size);
                break;
            default:
                for (size_t k = at; k < at + std::min<size_t>(size, 8); k++) {
                    content[k] = draw_byte();
                }
            }
        }
        tried++;
        return content;
    }

    // A copy that ends where its memory does, so that a read beyond is seen.
    static std::unique_ptr<uint8_t[]> exactly(const std::string &content)
    {
        std::unique_ptr<uint8_t[]> bytes(new uint8_t[content.size()]);
        std::copy(content.begin(), content.end(), bytes.get());
        return bytes;
    }

  private:
    std::mt19937 random_{1};
};

#endif
