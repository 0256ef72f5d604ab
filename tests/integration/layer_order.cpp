// SPDX-License-Identifier: Apache-2.0
#include "layer_order.hpp"
#include "harness.hpp"
#include "paths.h"

#include <sstream>

std::vector<std::string> ask_for_layers()
{
    return {"env", "VK_LOADER_DEBUG=layer", PIPELINES_CLIENT, "--compute", "1", "--graphics", "0"};
}

std::vector<std::string> layer_order(const Outcome &outcome)
{
    std::vector<std::string> layers;
    std::istringstream stream(outcome.errors);
    bool inside = false;
    for (std::string line; std::getline(stream, line);) {
        if (inside && line.find("<Drivers>") != std::string::npos) {
            break;
        }
        inside |= line.find("vkCreateInstance layer callstack") != std::string::npos;
        // A layer's name stands alone; manifests and libraries have a word before them.
        const size_t name = line.find("VK_LAYER_");
        if (inside && name != std::string::npos &&
            line.find(':', line.find(':') + 1) == std::string::npos) {
            layers.push_back(line.substr(name));
        }
    }
    return layers;
}
