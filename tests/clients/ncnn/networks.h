// SPDX-License-Identifier: Apache-2.0
// Four networks as text that ncnn reads: the layers of SqueezeNet 1.1, MobileNet v2, ShuffleNet v2
// and ResNet-18, for a picture of 64 by 64.
#ifndef WARMPIPE_CLIENTS_NCNN_NETWORKS_H
#define WARMPIPE_CLIENTS_NCNN_NETWORKS_H

#include <string>
#include <vector>

constexpr int picture_size = 64;

struct Network {
    std::string name;
    std::string text; // from a blob called "in" to one called "out"
};

std::vector<Network> all_networks();

#endif
