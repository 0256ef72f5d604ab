// SPDX-License-Identifier: Apache-2.0
// The order of the layers, asked of the loader: what it makes of the order in VK_INSTANCE_LAYERS
// differs from version to version (1.3.239 goes by the order of the folders).
#ifndef WARMPIPE_TESTS_LAYER_ORDER_HPP
#define WARMPIPE_TESTS_LAYER_ORDER_HPP

#include <string>
#include <vector>

struct Outcome;

// A program that has the loader tell; it reads VK_LOADER_DEBUG when it is loaded, so this is a
// process of its own.
std::vector<std::string> ask_for_layers();

// From the program down, as the loader told it of the first instance.
std::vector<std::string> layer_order(const Outcome &outcome);

#endif
