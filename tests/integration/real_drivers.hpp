// SPDX-License-Identifier: Apache-2.0
// Tests with Mesa's own drivers: RADV without a GPU (a real compiler and a real cache, nothing is
// executed) and lavapipe (executes, keeps nothing in a pipeline cache).
#ifndef WARMPIPE_TESTS_REAL_DRIVERS_HPP
#define WARMPIPE_TESTS_REAL_DRIVERS_HPP

#include <string>
#include <vector>

#include "harness.hpp"

// A run of the client of tests/clients/pipelines, and what it said of itself.
struct ClientRun {
    Outcome outcome;
    json said;

    json cache(unsigned device = 0) const
    {
        return outcome.stats_of(device)["cache"];
    }
    json pipelines(unsigned device = 0) const
    {
        return outcome.stats_of(device)["pipelines"];
    }
};

class RealDriversTest : public LayerTest {
  protected:
    // From here on the programs see these devices and no others, named as tests/drivers/environment
    // names them, with spaces between. Skips the test where they are not to be had.
    void use_devices(const std::string &devices);
    void use_radv(const std::string &family = "navi10");
    void use_lavapipe();
    // RADV with ray tracing pipelines.
    void use_radv_raytracing();

    // For programs that are forked: what the device needs preloaded must be so here. Starts this
    // whole process again, once, where it is not. Called before anything else is tested.
    void preload_here();

    // 20 compute and 10 graphics pipelines, unless the options say otherwise.
    ClientRun client(const std::vector<std::string> &options = {}, Layer layer = Layer::works);
    // The same without the layer.
    ClientRun plain_client(const std::vector<std::string> &options = {});

    // As after a driver update: no cache file is there, and the client, which has these arguments,
    // asks for its first pipeline when all that can be is compiled ahead.
    std::vector<std::string> after_prewarm(std::vector<std::string> arguments);

    // The driver found everything in the cache that was loaded, and nothing was written.
    void expect_warm(const ClientRun &run, unsigned pipelines, unsigned device = 0);
};

#endif
