// SPDX-License-Identifier: Apache-2.0
#include "shaders.h"

#include "shader.h"

namespace {

HostilePipeline pipeline(const std::string &name, const std::string &outcome,
                         const std::function<void(Shader &)> &change = {})
{
    Shader shader;
    // Else equal code would be one pipeline: an OpSourceExtension of the name.
    Words text(name.size() / 4 + 1);
    for (size_t i = 0; i < name.size(); i++) {
        text[i / 4] |= static_cast<uint32_t>(static_cast<unsigned char>(name[i])) << i % 4 * 8;
    }
    shader.modes = shader.modes + op(4, text);
    if (change) {
        change(shader);
    }
    return {name, outcome, shader.words()};
}

// Versions of clang-format lay lambdas out differently.
// clang-format off

// What a look at form, code and layouts finds.
void add_visible(std::vector<HostilePipeline> &all)
{
    const auto add = [&](const std::string &name, const std::string &outcome,
                         const std::function<void(HostilePipeline &)> &change,
                         const std::function<void(Shader &)> &change_shader = {}) {
        all.push_back(pipeline(name, outcome, change_shader));
        change(all.back());
    };
    using P = HostilePipeline;
    add("no such entry point", "bad_entry_point", [](P &p) { p.entry = "other"; });
    add(
        "entry point of a vertex shader", "bad_entry_point", [](P &) {},
        [](Shader &s) { s.model = 0; });
    add("vertex stage", "bad_stage", [](P &p) { p.stage = VK_SHADER_STAGE_VERTEX_BIT; });
    add("no stage", "bad_stage", [](P &p) { p.stage = static_cast<VkShaderStageFlagBits>(0); });
    add("no binding", "bad_binding", [](P &p) { p.bindings[0].binding = 1; });
    add("no set", "bad_binding", [](P &) {}, [](Shader &s) { s.set = 3; });
    add("no layout", "bad_binding", [](P &p) { p.sets = 0; });
    const auto nothing = op(16, {MAIN, 17, 0, 0, 0});
    add("workgroup of nothing", "bad_spirv", [](P &) {}, [&](Shader &s) { s.modes = nothing; });
    add("other type of binding", "bad_binding",
        [](P &p) { p.bindings[0].descriptorType = VK_DESCRIPTOR_TYPE_SAMPLER; });
    add("binding of another stage", "bad_binding",
        [](P &p) { p.bindings[0].stageFlags = VK_SHADER_STAGE_VERTEX_BIT; });
    add("binding of nothing", "bad_binding", [](P &p) { p.bindings[0].descriptorCount = 0; });
    add("binding twice", "bad_binding", [](P &p) { p.bindings.push_back(p.bindings[0]); });
    add("binding of the largest number", "bad_binding", [](P &p) {
        p.bindings.push_back(p.bindings[0]);
        p.bindings[1].binding = UINT32_MAX;
    });
    add(
        "array longer than its binding", "bad_binding", [](P &) {},
        [](Shader &s) {
            s.buffer = op(28, {FREE, BLOCK, HUGE_LENGTH}) + op(32, {BLOCK_POINTER, UNIFORM, FREE}) +
                       op(59, {BLOCK_POINTER, BUFFER, UNIFORM});
            s.access = op(65, {UINT_POINTER, ELEMENT, BUFFER, ZERO, ZERO}) + op(62, {ELEMENT, ONE});
        });
    const auto push = [](Shader &s) {
        s.buffer = op(32, {BLOCK_POINTER, PUSH_CONSTANT, BLOCK}) +
                   op(59, {BLOCK_POINTER, BUFFER, PUSH_CONSTANT}) +
                   op(32, {FREE, PUSH_CONSTANT, UINT});
        s.decorations = op(72, {BLOCK, 0, 35, 16});
        s.access = op(65, {FREE, ELEMENT, BUFFER, ZERO}) + op(61, {UINT, FREE + 1, ELEMENT});
    };
    add("push constants without a range", "bad_push_constants", [](P &) {}, push);
    add(
        "push constants behind their range", "bad_push_constants",
        [](P &p) { p.ranges = {{VK_SHADER_STAGE_COMPUTE_BIT, 0, 16}}; }, push);
    add(
        "push constants of another stage", "bad_push_constants",
        [](P &p) { p.ranges = {{VK_SHADER_STAGE_VERTEX_BIT, 0, 128}}; }, push);
    add("push constants of three bytes", "bad_push_constants",
        [](P &p) { p.ranges = {{VK_SHADER_STAGE_COMPUTE_BIT, 0, 3}}; });
    add("push constants without end", "bad_push_constants",
        [](P &p) { p.ranges = {{VK_SHADER_STAGE_COMPUTE_BIT, 0xfffffffc, 0xfffffffc}}; });
    add("two ranges of one stage", "bad_push_constants", [](P &p) {
        p.ranges = {{VK_SHADER_STAGE_COMPUTE_BIT, 0, 16}, {VK_SHADER_STAGE_COMPUTE_BIT, 16, 16}};
    });
    add("more push constants than the device has", "unsupported",
        [](P &p) { p.ranges = {{VK_SHADER_STAGE_COMPUTE_BIT, 0, 65532}}; });
    add("more sets than the device has", "unsupported", [](P &p) { p.sets = 1000; });
    const auto use_special = [](Shader &s) { s.body = op(128, {UINT, FREE, SPECIAL, ONE}); };
    add(
        "wide specialization constant", "bad_specialization",
        [](P &p) { p.constants = {{7, 0, 8}}; }, use_special);
    add(
        "narrow specialization constant", "bad_specialization",
        [](P &p) { p.constants = {{7, 0, 1}}; }, use_special);
    add(
        "specialization constant behind the data", "invalid",
        [](P &p) { p.constants = {{7, 6, 4}}; }, use_special);
    add(
        "specialization constant far behind the data", "invalid",
        [](P &p) { p.constants = {{7, 0x7ffffffc, 4}}; }, use_special);
    add(
        "specialization constant twice", "bad_specialization",
        [](P &p) { p.constants = {{7, 0, 4}, {7, 4, 4}}; }, use_special);
    add("cut code", "bad_spirv", [](P &p) { p.code.resize(p.code.size() - 2); });
    add("code without end", "bad_spirv", [](P &p) { p.code.back() = 0xffff0038; });
    add("code of another endianness", "bad_spirv", [](P &p) { p.code[0] = 0x03022307; });
}

// Code that is damaged, or comes to no end.
void add_damaged(std::vector<HostilePipeline> &all)
{
    const auto add = [&](const std::string &name, const std::string &outcome,
                         const std::function<void(Shader &)> &change) {
        all.push_back(pipeline(name, outcome, change));
    };
    add("no ids", "bad_spirv", [](Shader &s) { s.bound = 0; });
    add("ids beyond the bound", "bad_spirv", [](Shader &s) { s.bound = 8; });
    add("bound without end", "bad_spirv", [](Shader &s) { s.bound = UINT32_MAX; });
    add("kernel", "bad_spirv", [](Shader &s) { s.capabilities = op(17, {6}); });
    add("id twice", "bad_spirv", [](Shader &s) { s.types = op(21, {UINT, 32, 1}); });
    add("array of itself", "bad_spirv", [](Shader &s) {
        s.buffer = op(28, {FREE, FREE, ONE}) + op(32, {BLOCK_POINTER, UNIFORM, FREE}) +
                   op(59, {BLOCK_POINTER, BUFFER, UNIFORM});
    });
    add("function in a function", "bad_spirv",
        [](Shader &s) { s.end = function(FREE, FREE + 1, {}); });
    add("function without end", "bad_spirv",
        [](Shader &s) { s.functions = op(54, {VOID, FREE, 0, FUNCTION_TYPE}); });
    add("call of no function", "bad_spirv", [](Shader &s) { s.body = call(FREE, FREE + 1); });
    add("function that calls itself", "bad_spirv", [](Shader &s) { s.body = call(MAIN, FREE); });
    add("functions that call each other", "bad_spirv", [](Shader &s) {
        s.body = call(FREE, FREE + 100);
        s.functions = function(FREE, FREE + 2, call(FREE + 1, FREE + 3)) +
                      function(FREE + 1, FREE + 4, call(FREE, FREE + 5));
    });
    add("calls that double", "bad_spirv", [](Shader &s) {
        s.body = call(FREE, FREE + 90000);
        s.functions = chain_of_functions(40, [](uint32_t next, uint32_t at) {
            return call(next, FREE + 40000 + at) + call(next, FREE + 60000 + at);
        });
    });
    add("large workgroup", "unsupported",
        [](Shader &s) { s.modes = op(16, {MAIN, 17, 1 << 20, 1, 1}); });
    add("deep workgroup", "unsupported",
        [](Shader &s) { s.modes = op(16, {MAIN, 17, 1, 1, 0x80000000}); });
}

// What no small reader finds, and what is valid.
void add_deep(std::vector<HostilePipeline> &all)
{
    const auto add = [&](const std::string &name, const std::function<void(Shader &)> &change) {
        all.push_back(pipeline(name, "", change));
    };
    const auto memory = [&](const std::string &name, uint32_t storage) {
        add("huge memory, " + name, [storage](Shader &s) {
            const Words variable = op(59, {FREE + 1, FREE + 2, storage});
            s.types = op(28, {FREE, UINT, HUGE_LENGTH}) + op(32, {FREE + 1, storage, FREE}) +
                      op(32, {FREE + 3, storage, UINT}) + (storage == 7 ? Words() : variable);
            s.variables = storage == 7 ? variable : Words();
            s.body = op(65, {FREE + 3, FREE + 4, FREE + 2, SPECIAL}) + op(62, {FREE + 4, ONE});
        });
    };
    memory("of the workgroup", 4);
    memory("of the invocation", 6);
    memory("of the function", 7);
    add("most ids", [](Shader &s) { s.bound = (1u << 22) - 1; });
    add("deep ifs", [](Shader &s) { s.body = nested_ifs(3000); });
    add("deep structs", [](Shader &s) { s.types = chain_of_structs(20000); });
    add("deep calls", [](Shader &s) {
        s.body = call(FREE, FREE + 90000);
        s.functions = chain_of_functions(
            2000, [](uint32_t next, uint32_t at) { return call(next, FREE + 40000 + at); });
    });
    add("straight line", [](Shader &s) {
        s.access = op(65, {UINT_POINTER, ELEMENT, BUFFER, ZERO}) + straight_line(20000) +
                   op(62, {ELEMENT, FREE + 19999});
    });
    add("loop without merge", [](Shader &s) {
        s.body = op(249, {FREE}) + op(248, {FREE}) + op(250, {TRUE_CONSTANT, FREE, FREE + 1}) +
                 op(248, {FREE + 1});
    });
    add("loop without end", [](Shader &s) {
        s.body = op(249, {FREE}) + op(248, {FREE}) + op(246, {FREE + 2, FREE + 1, 0}) +
                 op(249, {FREE + 1}) + op(248, {FREE + 1}) + op(249, {FREE}) + op(248, {FREE + 2});
    });
    add("branch to nothing", [](Shader &s) { s.end = op(249, {FREE}); });
    add("branch to a type", [](Shader &s) { s.end = op(249, {UINT}); });
    add("block without end", [](Shader &s) { s.end = {}; });
    add("function without block", [](Shader &s) {
        s.body = call(FREE, FREE + 1);
        s.functions = op(54, {VOID, FREE, 0, FUNCTION_TYPE}) + op(56);
    });
    add("switch without cases", [](Shader &s) { s.end = op(251, {ONE}); });
    add("phi of nothing", [](Shader &s) { s.body = op(245, {UINT, FREE, FREE + 1, FREE + 2}); });
}

void add_wrong(std::vector<HostilePipeline> &all)
{
    const auto add = [&](const std::string &name, const std::function<void(Shader &)> &change) {
        all.push_back(pipeline(name, "", change));
    };
    add("operand of nothing", [](Shader &s) { s.body = op(128, {UINT, FREE, FREE + 1, ONE}); });
    add("operand beyond the bound",
        [](Shader &s) { s.body = op(128, {UINT, FREE, ONE, 0xfffffff}); });
    add("result beyond the bound",
        [](Shader &s) { s.body = op(128, {UINT, 0xfffffff, ONE, ONE}); });
    add("sum of types", [](Shader &s) { s.body = op(128, {UINT, FREE, UINT, FLOAT}); });
    add("sum of another type", [](Shader &s) { s.body = op(129, {FLOAT, FREE, ONE, ONE}); });
    add("load of no pointer", [](Shader &s) { s.body = op(61, {UINT, FREE, ONE}); });
    add("store of another type", [](Shader &s) { s.access[s.access.size() - 1] = TRUE_CONSTANT; });
    add("member beyond the last", [](Shader &s) {
        s.access = op(65, {UINT_POINTER, ELEMENT, BUFFER, HUGE_LENGTH}) + op(62, {ELEMENT, ONE});
    });
    add("element of a scalar", [](Shader &s) { s.body = op(81, {UINT, FREE, ONE, 3}); });
    add("element beyond the last", [](Shader &s) {
        s.types = op(23, {FREE, UINT, 2}) + op(44, {FREE, FREE + 1, ONE, ONE});
        s.body = op(81, {UINT, FREE + 2, FREE + 1, 77777});
    });
    add("shuffle beyond the last", [](Shader &s) {
        s.types = op(23, {FREE, UINT, 2}) + op(44, {FREE, FREE + 1, ONE, ONE});
        s.body = op(79, {FREE, FREE + 2, FREE + 1, FREE + 1, 1000, 2000});
    });
    add("vector of a thousand", [](Shader &s) {
        s.types = op(23, {FREE, UINT, 1000}) + op(1, {FREE, FREE + 1});
        s.body = op(128, {FREE, FREE + 2, FREE + 1, FREE + 1});
    });
    add("integer of 7 bits", [](Shader &s) {
        s.types = op(21, {FREE, 7, 0}) + op(43, {FREE, FREE + 1, 1});
        s.body = op(128, {FREE, FREE + 2, FREE + 1, FREE + 1});
    });
    add("float of 1000 bits", [](Shader &s) { s.types = op(22, {FREE, 1000}); });
    add("array of nothing", [](Shader &s) { s.types = op(28, {FREE, UINT, ZERO}); });
    add("image of no dimension",
        [](Shader &s) { s.types = op(25, {FREE, FLOAT, 99, 9, 9, 9, 9, 999}); });
    add("constant of itself", [](Shader &s) {
        s.types = op(23, {FREE, UINT, 2}) + op(44, {FREE, FREE + 1, FREE + 1, FREE + 1});
        s.body = op(128, {FREE, FREE + 2, FREE + 1, FREE + 1});
    });
    add("constant divided by nothing", [](Shader &s) {
        s.types = op(52, {UINT, FREE, 134, SPECIAL, ZERO});
        s.body = op(128, {UINT, FREE + 1, FREE, FREE});
    });
    add("instruction of no set",
        [](Shader &s) { s.body = op(12, {UINT, FREE, FREE + 1, 4, ONE}); });
    add("set of nobody", [](Shader &s) {
        s.capabilities = s.capabilities + op(11, {FREE + 9, 0x6f626f6e, 0x00007964});
    });
    add("decoration of a type that is none",
        [](Shader &s) { s.decorations = op(72, {BLOCK, 99999, 35, 4}); });
    add("unknown instruction", [](Shader &s) { s.body = op(60000, {1, 2, 3}); });
    add("unknown capability", [](Shader &s) { s.capabilities = s.capabilities + op(17, {60000}); });
    add("doubles that are not enabled", [](Shader &s) {
        s.capabilities = s.capabilities + op(17, {10});
        s.types = op(22, {FREE, 64}) + op(43, {FREE, FREE + 1, 0, 0x3ff00000});
        s.body = op(129, {FREE, FREE + 2, FREE + 1, FREE + 1});
    });
    add("rays that are not enabled", [](Shader &s) {
        s.capabilities = s.capabilities + op(17, {4479});
        s.types = op(5341, {FREE});
    });
    add("no workgroup", [](Shader &s) { s.modes = {}; });
}

// clang-format on

} // namespace

std::vector<HostilePipeline> hostile_pipelines()
{
    std::vector<HostilePipeline> all;
    add_visible(all);
    add_damaged(all);
    add_deep(all);
    add_wrong(all);
    return all;
}
