#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""llama.cpp's ggml on Vulkan, as a tool that ends as soon as it has computed: ggml.py FOLDER, where
FOLDER holds libggml-base.so and libggml-vulkan.so. Prints a line of results for each operation.
WITHOUT=NAME leaves out operations whose name holds NAME."""
import ctypes
import os
import sys

folder = sys.argv[1]
base = ctypes.CDLL(os.path.join(folder, "libggml-base.so"), mode=ctypes.RTLD_GLOBAL)
vulkan = ctypes.CDLL(os.path.join(folder, "libggml-vulkan.so"), mode=ctypes.RTLD_GLOBAL)

F32, F16, Q4_0, Q8_0 = 0, 1, 2, 8
WIDTH, ROWS = 256, 8
POINTER, LONG = ctypes.c_void_p, ctypes.c_int64


class InitParams(ctypes.Structure):
    _fields_ = [("mem_size", ctypes.c_size_t), ("mem_buffer", POINTER), ("no_alloc", ctypes.c_bool)]


def function(library, name, result, *arguments):
    found = getattr(library, name)
    found.restype, found.argtypes = result, arguments
    return found


init = function(base, "ggml_init", POINTER, InitParams)
new_tensor = function(base, "ggml_new_tensor_2d", POINTER, POINTER, ctypes.c_int, LONG, LONG)
new_graph = function(base, "ggml_new_graph", POINTER, POINTER)
expand = function(base, "ggml_build_forward_expand", None, POINTER, POINTER)
allocate = function(base, "ggml_backend_alloc_ctx_tensors", POINTER, POINTER, POINTER)
quantize = function(base, "ggml_quantize_chunk", ctypes.c_size_t, ctypes.c_int, POINTER, POINTER,
                    LONG, LONG, LONG, POINTER)
set_tensor = function(base, "ggml_backend_tensor_set", None, POINTER, POINTER, ctypes.c_size_t,
                      ctypes.c_size_t)
get_tensor = function(base, "ggml_backend_tensor_get", None, POINTER, POINTER, ctypes.c_size_t,
                      ctypes.c_size_t)
compute = function(base, "ggml_backend_graph_compute", ctypes.c_int, POINTER, POINTER)
init_vulkan = function(vulkan, "ggml_backend_vk_init", POINTER, ctypes.c_size_t)

unary = {name: function(base, "ggml_" + name, POINTER, POINTER, POINTER)
         for name in ("silu", "gelu", "relu", "tanh", "sqr", "soft_max", "cont", "neg", "sin")}
binary = {name: function(base, "ggml_" + name, POINTER, POINTER, POINTER, POINTER)
          for name in ("add", "mul", "div", "sub", "mul_mat")}
norms = {name: function(base, "ggml_" + name, POINTER, POINTER, POINTER, ctypes.c_float)
         for name in ("rms_norm", "norm")}

backend = init_vulkan(0)
if not backend:
    sys.exit("no Vulkan device")
context = init(InitParams(1 << 20, None, True))
left, right = (new_tensor(context, F32, WIDTH, ROWS) for _ in range(2))
weights = {name: new_tensor(context, kind, WIDTH, ROWS)
           for name, kind in (("f16", F16), ("q4_0", Q4_0), ("q8_0", Q8_0))}
results = {name: operation(context, left) for name, operation in unary.items()}
results |= {name: operation(context, left, right) for name, operation in binary.items()}
results |= {name: operation(context, left, 1e-5) for name, operation in norms.items()}
results |= {"mul_mat " + name: binary["mul_mat"](context, weight, right)
            for name, weight in weights.items()}

# Positive numbers that every run draws alike.
count = WIDTH * ROWS
values = [(ctypes.c_float * count)(*(0.1 + (i * step % 97) / 97 for i in range(count)))
          for step in (31, 57)]
if not allocate(context, backend):
    sys.exit("no memory")
for tensor, data in zip((left, right), values):
    set_tensor(tensor, data, 0, ctypes.sizeof(data))
for (name, tensor), kind in zip(weights.items(), (F16, Q4_0, Q8_0)):
    packed = (ctypes.c_char * (count * 4))()
    size = quantize(kind, values[0], packed, 0, ROWS, WIDTH, None)
    set_tensor(tensor, packed, 0, size)

# One graph for each operation: as a program that learns by and by what it needs.
without = os.environ.get("WITHOUT")
for name, tensor in results.items():
    if without and without in name:
        continue
    graph = new_graph(init(InitParams(1 << 20, None, True)))
    expand(graph, tensor)
    status = compute(backend, graph)
    read = (ctypes.c_float * (ROWS * ROWS))()
    get_tensor(tensor, read, 0, ctypes.sizeof(read))
    print(name, status, " ".join(f"{value:.3f}" for value in read[:8]), flush=True)
