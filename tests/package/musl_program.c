// SPDX-License-Identifier: Apache-2.0
/* usage: musl_program LAYER END
 *
 * A program for musl_test.sh that is its own loader: no distribution with glibc has one for musl.
 * It opens the layer, links it above the test driver, creates pipelines on a thread with musl's own
 * stack size, and ends as it is told. Prints how much of a stack the layer and the driver take.
 *
 *   destroy       all is destroyed, and main returns
 *   exit          nothing is; exit()
 *   handler       nothing is; quick_exit() in a handler of a signal, of whose stack 4 KiB are used
 *   pthread_exit  all is destroyed, and main leaves by pthread_exit: who is last ends the process
 *   cancel        each command of the device is called by a thread that was cancelled before
 *   fork          a child ends by exit(), with all that the parent has
 *   dlclose       all is destroyed, and the layer is closed
 *   kill          the process kills itself */
#include <dlfcn.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vulkan/vk_layer.h>
#include <vulkan/vulkan.h>

#include "layer/worker/own_thread.h"
#include "tests/icd/test_icd.h"

#define PIPELINES    8
#define HANDLER_SIZE 4096        /* of 8 KiB; the kernel takes up to 3.5 of them */
#define THREAD_SIZE  (128 << 10) /* musl's default */
#define UNTOUCHED    0xA5

/* The test driver's, in this program. */
PFN_vkVoidFunction vk_icdGetInstanceProcAddr(VkInstance instance, const char *name);

static struct {
    PFN_vkGetInstanceProcAddr instance_proc;
    PFN_vkGetDeviceProcAddr device_proc;
    VkInstance instance;
    VkPhysicalDevice physical;
    VkDevice device;
    VkPipelineLayout layout;
    uint32_t first; /* of the pipelines that come next */
} vulkan;

#define INSTANCE_COMMAND(name) ((PFN_vk##name)vulkan.instance_proc(vulkan.instance, "vk" #name))
#define DEVICE_COMMAND(name)   ((PFN_vk##name)vulkan.device_proc(vulkan.device, "vk" #name))

static void expect(bool is_so, const char *what)
{
    if (!is_so) {
        fprintf(stderr, "musl_program: %s\n", what);
        _exit(1);
    }
}

static void link_layer(void *layer)
{
    VkNegotiateLayerInterface negotiation = {.sType = LAYER_NEGOTIATE_INTERFACE_STRUCT,
                                             .loaderLayerInterfaceVersion = 2};
    PFN_vkNegotiateLoaderLayerInterfaceVersion negotiate;
    *(void **)&negotiate = dlsym(layer, "vkNegotiateLoaderLayerInterfaceVersion");
    expect(negotiate && negotiate(&negotiation) == VK_SUCCESS, "the layer does not negotiate");
    vulkan.instance_proc = negotiation.pfnGetInstanceProcAddr;
    vulkan.device_proc = negotiation.pfnGetDeviceProcAddr;
}

static void create_instance(void)
{
    const VkApplicationInfo application = {.sType = VK_STRUCTURE_TYPE_APPLICATION_INFO,
                                           .apiVersion = VK_API_VERSION_1_3};
    VkLayerInstanceLink below = {.pfnNextGetInstanceProcAddr = vk_icdGetInstanceProcAddr};
    VkLayerInstanceCreateInfo link = {.sType = VK_STRUCTURE_TYPE_LOADER_INSTANCE_CREATE_INFO,
                                      .function = VK_LAYER_LINK_INFO};
    link.u.pLayerInfo = &below;
    const VkInstanceCreateInfo create_info = {.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO,
                                              .pNext = &link,
                                              .pApplicationInfo = &application};
    uint32_t count = 1;
    expect(INSTANCE_COMMAND(CreateInstance)(&create_info, NULL, &vulkan.instance) == VK_SUCCESS &&
               INSTANCE_COMMAND(EnumeratePhysicalDevices)(vulkan.instance, &count,
                                                          &vulkan.physical) == VK_SUCCESS,
           "no instance");
}

static void create_device(void)
{
    const float priority = 1;
    const VkDeviceQueueCreateInfo queue = {.sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO,
                                           .queueCount = 1,
                                           .pQueuePriorities = &priority};
    VkLayerDeviceLink below = {.pfnNextGetInstanceProcAddr = vk_icdGetInstanceProcAddr,
                               .pfnNextGetDeviceProcAddr =
                                   (PFN_vkGetDeviceProcAddr)vk_icdGetInstanceProcAddr(
                                       vulkan.instance, "vkGetDeviceProcAddr")};
    VkLayerDeviceCreateInfo link = {.sType = VK_STRUCTURE_TYPE_LOADER_DEVICE_CREATE_INFO,
                                    .function = VK_LAYER_LINK_INFO};
    link.u.pLayerInfo = &below;
    const VkDeviceCreateInfo create_info = {.sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO,
                                            .pNext = &link,
                                            .queueCreateInfoCount = 1,
                                            .pQueueCreateInfos = &queue};
    const VkPipelineLayoutCreateInfo layout = {.sType =
                                                   VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO};
    expect(INSTANCE_COMMAND(CreateDevice)(vulkan.physical, &create_info, NULL, &vulkan.device) ==
                   VK_SUCCESS &&
               DEVICE_COMMAND(CreatePipelineLayout)(vulkan.device, &layout, NULL, &vulkan.layout) ==
                   VK_SUCCESS,
           "no device");
}

/* A compute shader that does nothing, with work groups of another size each. */
static void create_pipeline(uint32_t number)
{
    const uint32_t code[] = {
        0x07230203, 0x00010000, 0,          6,          0,          0x00020011, 1,
        0x0003000e, 0,          1,          0x0005000f, 5,          4,          0x6e69616d,
        0,          0x00060010, 4,          17,         number + 1, 1,          1,
        0x00020013, 2,          0x00030021, 3,          2,          0x00050036, 2,
        4,          0,          3,          0x000200f8, 5,          0x000100fd, 0x00010038,
    };
    const VkShaderModuleCreateInfo module = {.sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO,
                                             .codeSize = sizeof code,
                                             .pCode = code};
    VkComputePipelineCreateInfo create_info = {
        .sType = VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO,
        .stage = {.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO,
                  .stage = VK_SHADER_STAGE_COMPUTE_BIT,
                  .pName = "main"},
        .layout = vulkan.layout};
    VkPipeline pipeline = VK_NULL_HANDLE;
    expect(DEVICE_COMMAND(CreateShaderModule)(vulkan.device, &module, NULL,
                                              &create_info.stage.module) == VK_SUCCESS &&
               DEVICE_COMMAND(CreateComputePipelines)(vulkan.device, VK_NULL_HANDLE, 1,
                                                      &create_info, NULL, &pipeline) == VK_SUCCESS,
           "no pipeline");
    DEVICE_COMMAND(DestroyShaderModule)(vulkan.device, create_info.stage.module, NULL);
    DEVICE_COMMAND(DestroyPipeline)(vulkan.device, pipeline, NULL);
}

static void create_pipelines(void)
{
    for (uint32_t i = 0; i < PIPELINES; i++) {
        create_pipeline(vulkan.first++);
    }
}

static void destroy_device(void)
{
    DEVICE_COMMAND(DestroyPipelineLayout)(vulkan.device, vulkan.layout, NULL);
    DEVICE_COMMAND(DestroyDevice)(vulkan.device, NULL);
}

static void destroy_instance(void)
{
    INSTANCE_COMMAND(DestroyInstance)(vulkan.instance, NULL);
}

/* What a thread does; `is_cancelled`: after it was cancelled. */
struct step {
    void (*function)(void);
    bool is_cancelled;
    bool has_returned;
};

static void *run_step(void *argument)
{
    struct step *step = argument;
    if (step->is_cancelled) {
        pthread_cancel(pthread_self());
    }
    step->function();
    step->has_returned = true;
    pthread_testcancel();
    return NULL;
}

static size_t unused_of(const unsigned char *stack, size_t size)
{
    size_t unused = 0;
    while (unused < size && stack[unused] == UNTOUCHED) {
        unused++;
    }
    return unused;
}

/* On a thread with a stack of musl's default size. Returns how much of it was used. */
static size_t run_on_thread(void (*function)(void), bool is_cancelled)
{
    struct step step = {function, is_cancelled, false};
    pthread_attr_t attributes;
    pthread_t thread;
    unsigned char *stack =
        mmap(NULL, THREAD_SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    expect(stack != MAP_FAILED, "no stack");
    memset(stack, UNTOUCHED, THREAD_SIZE);
    pthread_attr_init(&attributes);
    pthread_attr_setstack(&attributes, stack, THREAD_SIZE);
    expect(pthread_create(&thread, &attributes, run_step, &step) == 0, "no thread");
    pthread_join(thread, NULL);
    expect(step.has_returned, "a command was a place to be cancelled at");
    const size_t used = THREAD_SIZE - unused_of(stack, THREAD_SIZE);
    munmap(stack, THREAD_SIZE);
    return used;
}

static void all_steps(bool is_cancelled, bool is_destroyed)
{
    static void (*const steps[])(void) = {create_instance, create_device, create_pipelines,
                                          destroy_device, destroy_instance};
    for (size_t i = 0; i < (is_destroyed ? 5 : 3); i++) {
        printf("%zu ", run_on_thread(steps[i], is_cancelled && i > 0));
    }
    printf("\n");
    fflush(stdout);
}

static unsigned char handler_stack[64 << 10];
static unsigned char *handler_top;

/* Of quick_exit, behind those of the layer. */
static void measure_handler_stack(void)
{
    const unsigned char *lowest = handler_stack + unused_of(handler_stack, sizeof handler_stack);
    expect(!handler_top || handler_top - lowest <= HANDLER_SIZE,
           "an end in a handler takes more than 4 KiB of its stack");
}

static void end_in_handler(int number)
{
    unsigned char here;
    (void)number;
    handler_top = &here;
    quick_exit(0);
}

static void raise_on_own_stack(void)
{
    memset(handler_stack, UNTOUCHED, sizeof handler_stack);
    sigaltstack(&(stack_t){.ss_sp = handler_stack, .ss_size = sizeof handler_stack}, NULL);
    sigaction(SIGUSR1, &(struct sigaction){.sa_handler = end_in_handler, .sa_flags = SA_ONSTACK},
              NULL);
    raise(SIGUSR1);
}

/* Of which the C library's own functions tell nothing. */
static void expect_ranks(void)
{
    const struct sched_param none = {0};
    const int before = own_thread_rank(0);
    expect(syscall(SYS_sched_setscheduler, 0, SCHED_IDLE, &none) == 0 &&
               own_thread_rank(0) < before && own_thread_rank(0) >= 0,
           "the rank of an idle thread is not known");
    expect(own_thread_rank((pid_t)0x3fffffff) < 0, "a thread that is none has a rank");
    syscall(SYS_sched_setscheduler, 0, SCHED_OTHER, &none);
}

static void end(const char *how, void *layer)
{
    if (strcmp(how, "exit") == 0) {
        exit(0);
    } else if (strcmp(how, "handler") == 0) {
        raise_on_own_stack();
    } else if (strcmp(how, "kill") == 0) {
        raise(SIGKILL);
    } else if (strcmp(how, "pthread_exit") == 0) {
        pthread_exit(NULL);
    } else if (strcmp(how, "dlclose") == 0) {
        expect(dlclose(layer) == 0, "the layer cannot be closed");
    } else if (strcmp(how, "fork") == 0) {
        int status = -1;
        const pid_t child = fork();
        if (child == 0) {
            exit(0);
        }
        expect(waitpid(child, &status, 0) == child && status == 0, "a forked child does not end");
        create_pipelines();
        destroy_device();
        destroy_instance();
    }
}

int main(int argc, char **argv)
{
    expect(argc == 3, "usage: musl_program LAYER END");
    alarm(60);
    at_quick_exit(measure_handler_stack);
    void *layer = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
    expect(layer, layer ? "" : dlerror());
    const char *how = argv[2];
    const bool is_destroyed = strcmp(how, "destroy") == 0 || strcmp(how, "cancel") == 0 ||
                              strcmp(how, "pthread_exit") == 0 || strcmp(how, "dlclose") == 0;
    expect_ranks();
    link_layer(layer);
    all_steps(strcmp(how, "cancel") == 0, is_destroyed);
    expect(test_icd_violations() == 0, "something reached the driver that must not");
    end(how, layer);
    return 0;
}
