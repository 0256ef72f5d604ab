// SPDX-License-Identifier: Apache-2.0
#include "networks.h"

#include <initializer_list>

namespace {

struct Blob {
    std::string name;
    int width, height, channels;
};

using Blobs = std::vector<Blob>;

// One line for each layer. A blob that two layers read has to be split.
class Builder {
  public:
    Blob input()
    {
        const Blob picture = {"in", picture_size, picture_size, 3};
        const std::string size = std::to_string(picture_size);
        add("Input", {}, {picture}, "0=" + size + " 1=" + size + " 2=3");
        return picture;
    }

    // Padded so that only the stride makes the picture smaller; each channel by itself: depthwise.
    Blob convolution(const Blob &from, int channels, int kernel, int stride, bool relu,
                     bool depthwise = false)
    {
        const int weights = channels * (depthwise ? 1 : from.channels) * kernel * kernel;
        const Blob to = shaped(reduced(from.width, stride), reduced(from.height, stride), channels);
        add(depthwise ? "ConvolutionDepthWise" : "Convolution", {from}, {to},
            "0=" + std::to_string(channels) + " 1=" + std::to_string(kernel) +
                " 3=" + std::to_string(stride) + " 4=" + std::to_string(kernel / 2) +
                " 5=1 6=" + std::to_string(weights) +
                (depthwise ? " 7=" + std::to_string(channels) : "") + (relu ? " 9=1" : ""));
        return to;
    }

    Blob pooling(const Blob &from)
    {
        const Blob to = shaped(reduced(from.width, 2), reduced(from.height, 2), from.channels);
        add("Pooling", {from}, {to}, "1=3 2=2 3=1 5=1");
        return to;
    }

    Blobs split(const Blob &from)
    {
        const Blobs to = {copy_of(from), copy_of(from)};
        add("Split", {from}, to, "");
        return to;
    }

    Blobs halves(const Blob &from)
    {
        const int half = from.channels / 2;
        const Blobs to = {shaped(from.width, from.height, half),
                          shaped(from.width, from.height, half)};
        add("Slice", {from}, to, "-23300=2," + std::to_string(half) + ",-233");
        return to;
    }

    Blob concatenation(const Blob &first, const Blob &second)
    {
        const Blob to = shaped(first.width, first.height, first.channels + second.channels);
        add("Concat", {first, second}, {to}, "");
        return to;
    }

    Blob sum(const Blob &first, const Blob &second)
    {
        const Blob to = copy_of(first);
        add("Eltwise", {first, second}, {to}, "0=1");
        return to;
    }

    Blob same(const char *type, const Blob &from, const char *parameters)
    {
        const Blob to = copy_of(from);
        add(type, {from}, {to}, parameters);
        return to;
    }

    // What it is, of a thousand.
    Network classified(const char *name, const Blob &from)
    {
        const Blob mean = shaped(from.channels, 1, 1);
        add("Pooling", {from}, {mean}, "0=1 4=1");
        const Blob logits = shaped(1000, 1, 1);
        add("InnerProduct", {mean}, {logits},
            "0=1000 1=1 2=" + std::to_string(1000 * from.channels));
        add("Softmax", {logits}, {{"out", 1000, 1, 1}}, "0=0");
        return {name, "7767517\n" + std::to_string(layer_count) + " " + std::to_string(blob_count) +
                          "\n" + lines};
    }

  private:
    static int reduced(int size, int stride)
    {
        return (size - 1) / stride + 1;
    }

    Blob shaped(int width, int height, int channels)
    {
        return {"b" + std::to_string(++name_count), width, height, channels};
    }

    Blob copy_of(const Blob &from)
    {
        return shaped(from.width, from.height, from.channels);
    }

    // With the shape of each blob, as ncnn's own tools write it: pipelines are made for it.
    void add(const char *type, const Blobs &from, const Blobs &to, const std::string &parameters)
    {
        ++layer_count;
        blob_count += static_cast<int>(to.size());
        lines += std::string(type) + " l" + std::to_string(layer_count) + " " +
                 std::to_string(from.size()) + " " + std::to_string(to.size());
        std::string shapes = " -23330=" + std::to_string(4 * to.size());
        for (const Blob &blob : from) {
            lines += " " + blob.name;
        }
        for (const Blob &blob : to) {
            lines += " " + blob.name;
            shapes += std::string(blob.height * blob.channels == 1 ? ",1," : ",3,") +
                      std::to_string(blob.width) + "," + std::to_string(blob.height) + "," +
                      std::to_string(blob.channels);
        }
        lines += shapes + " " + parameters + "\n";
    }

    int layer_count = 0, blob_count = 0, name_count = 0;
    std::string lines;
};

Network squeezenet()
{
    Builder build;
    Blob blob = build.pooling(build.convolution(build.input(), 64, 3, 2, true));
    int fire = 0;
    for (int squeezed : {16, 16, 32, 32, 48, 48, 64, 64}) {
        const Blobs two = build.split(build.convolution(blob, squeezed, 1, 1, true));
        const Blob narrow = build.convolution(two[0], 4 * squeezed, 1, 1, true);
        const Blob wide = build.convolution(two[1], 4 * squeezed, 3, 1, true);
        blob = build.concatenation(narrow, wide);
        if (++fire == 2 || fire == 4) {
            blob = build.pooling(blob);
        }
    }
    return build.classified("squeezenet", blob);
}

Network mobilenet()
{
    struct Stage {
        int wider, channels, count, stride;
    };
    Builder build;
    Blob blob = build.convolution(build.input(), 32, 3, 2, true);
    for (const Stage &stage :
         {Stage{1, 16, 1, 1}, Stage{6, 24, 2, 2}, Stage{6, 32, 3, 2}, Stage{6, 64, 4, 2},
          Stage{6, 96, 3, 1}, Stage{6, 160, 3, 2}, Stage{6, 320, 1, 1}}) {
        for (int i = 0; i < stage.count; ++i) {
            const int stride = i == 0 ? stage.stride : 1;
            const bool adds = stride == 1 && blob.channels == stage.channels;
            const Blobs two = adds ? build.split(blob) : Blobs{blob, blob};
            const int channels = stage.wider * blob.channels;
            const Blob wide = build.convolution(two[0], channels, 1, 1, true);
            const Blob deep = build.convolution(wide, channels, 3, stride, true, true);
            blob = build.convolution(deep, stage.channels, 1, 1, false);
            if (adds) {
                blob = build.sum(two[1], blob);
            }
        }
    }
    return build.classified("mobilenet_v2", build.convolution(blob, 1280, 1, 1, true));
}

Network shufflenet()
{
    Builder build;
    Blob blob = build.pooling(build.convolution(build.input(), 24, 3, 2, true));
    int half = 58;
    for (int count : {4, 8, 4}) {
        for (int i = 0; i < count; ++i) {
            const int stride = i == 0 ? 2 : 1;
            const Blobs two = i == 0 ? build.split(blob) : build.halves(blob);
            Blob kept = two[0];
            if (i == 0) {
                kept = build.convolution(kept, blob.channels, 3, stride, false, true);
                kept = build.convolution(kept, half, 1, 1, true);
            }
            Blob other = build.convolution(two[1], half, 1, 1, true);
            other = build.convolution(other, half, 3, stride, false, true);
            other = build.convolution(other, half, 1, 1, true);
            blob = build.same("ShuffleChannel", build.concatenation(kept, other), "0=2");
        }
        half *= 2;
    }
    return build.classified("shufflenet_v2", build.convolution(blob, 1024, 1, 1, true));
}

Network resnet()
{
    Builder build;
    Blob blob = build.pooling(build.convolution(build.input(), 64, 7, 2, true));
    for (int channels : {64, 128, 256, 512}) {
        for (int stride : {channels == 64 ? 1 : 2, 1}) {
            const Blobs two = build.split(blob);
            const bool changes = stride == 2 || channels != blob.channels;
            const Blob kept =
                changes ? build.convolution(two[0], channels, 1, stride, false) : two[0];
            const Blob first = build.convolution(two[1], channels, 3, stride, true);
            const Blob second = build.convolution(first, channels, 3, 1, false);
            blob = build.same("ReLU", build.sum(kept, second), "");
        }
    }
    return build.classified("resnet18", blob);
}

} // namespace

std::vector<Network> all_networks()
{
    return {squeezenet(), mobilenet(), shufflenet(), resnet()};
}
