// SPDX-License-Identifier: Apache-2.0
// The worker: when it comes to a client, what it does at the end of one, and who waits for a disk.
#include <gtest/gtest.h>

#include <atomic>
#include <condition_variable>
#include <csignal>
#include <fstream>
#include <mutex>
#include <thread>

#include <sched.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

extern "C" {
#include "common/base/clock.h"
#include "layer/worker/own_wait.h"
#include "layer/worker/worker.h"
}

#include "layer/patience.hpp"

namespace {

// Something that a thread waits for.
class Gate {
  public:
    void open()
    {
        const std::lock_guard<std::mutex> lock(mutex_);
        is_open_ = true;
        opened_.notify_all();
    }
    void wait()
    {
        std::unique_lock<std::mutex> lock(mutex_);
        ASSERT_TRUE(opened_.wait_for(lock, std::chrono::seconds(60), [&] { return is_open_; }));
    }

  private:
    std::mutex mutex_;
    std::condition_variable opened_;
    bool is_open_ = false;
};

// A client whose work is done once, in two parts: then `began` is open, and `go_on` is waited for.
struct Client {
    worker_client client = {};
    alignas(8) unsigned char permit[64] = {}; // all zero: our threads may call the driver
    std::atomic<uint64_t> due_ns{UINT64_MAX};
    Gate began;
    Gate go_on;
    Gate ended;
    std::atomic<bool> entered{false};

    Client()
    {
        client.due = [](worker_client *of, uint64_t) { return self(of)->due_ns.load(); };
        client.work = [](worker_client *of) { self(of)->work(); };
        client.last = [](worker_client *) {};
        client.permit = reinterpret_cast<driver_permit *>(permit);
        worker_add(&client);
    }

    static Client *self(worker_client *of)
    {
        return reinterpret_cast<Client *>(of);
    }

    void work()
    {
        due_ns = UINT64_MAX;
        began.open();
        go_on.wait();
        if (worker_enter_driver()) {
            entered = true;
            worker_leave_driver();
        }
        ended.open();
    }

    void begin()
    {
        due_ns = clock_now_ns();
        worker_wake(&client);
        began.wait();
    }
};

// For the client: the other's work is done.
void let_worker_wait_for_an_hour(Client &client, Client &other)
{
    client.go_on.open();
    client.due_ns = clock_now_ns() + 3600 * CLOCK_S;
    worker_wake(&client.client);
    other.go_on.open();
    other.begin();
    other.ended.wait();
}

TEST(Worker, ComesAtOnceToWhatIsDueBeforeWhatItKnowsOf)
{
    Client client, other;
    let_worker_wait_for_an_hour(client, other);

    client.due_ns = clock_now_ns();
    worker_wake_now(&client.client);
    client.ended.wait();
    EXPECT_TRUE(client.entered);
    EXPECT_TRUE(worker_remove(&client.client));
    EXPECT_TRUE(worker_remove(&other.client));
}

// What is far away is no reason to let something new wait for it.
TEST(Worker, ComesToWhatIsNewBeforeWhatIsFarAway)
{
    Client client, other;
    let_worker_wait_for_an_hour(client, other);

    client.due_ns = clock_now_ns();
    worker_wake(&client.client);
    client.ended.wait();
    EXPECT_TRUE(worker_remove(&client.client));
    EXPECT_TRUE(worker_remove(&other.client));
}

// Then there is no work, before which it asks the kernel for a sandbox.
TEST(Worker, DoesInMemoryWhatNeedsNoMore)
{
    Client client;
    client.client.in_memory = [](worker_client *of) {
        Client::self(of)->due_ns = UINT64_MAX;
        Client::self(of)->began.open();
        return UINT64_MAX;
    };
    client.begin();
    Client other; // whose turn comes behind the first one's
    other.begin();
    other.go_on.open();
    other.ended.wait();
    EXPECT_TRUE(worker_remove(&client.client));
    EXPECT_TRUE(worker_remove(&other.client));
    EXPECT_FALSE(client.entered) << "its work was done, too";
}

// The device of a client that was left at a disk is gone, whoever else leaves meanwhile.
TEST(Worker, EntersNoDriverForAClientThatWasLeft)
{
    auto *left = new Client; // the worker has it when the test may have failed
    Client other;
    left->begin();
    {
        const Patience little(CLOCK_MS);
        EXPECT_FALSE(worker_remove(&left->client));
        EXPECT_TRUE(worker_remove(&other.client));
    }
    left->go_on.open();
    left->ended.wait();
    EXPECT_FALSE(left->entered);

    Client next;
    next.go_on.open();
    next.begin();
    next.ended.wait();
    EXPECT_TRUE(next.entered) << "the mark falls with the call";
    EXPECT_TRUE(worker_remove(&next.client));
    delete left;
}

struct Job {
    Gate go_on;
    Gate carried_on;
    std::atomic<int> runs{0};
    std::thread::id thread;

    static void run(void *user)
    {
        auto *job = static_cast<Job *>(user);
        job->go_on.wait();
        job->thread = std::this_thread::get_id();
        ++job->runs;
    }
    static void carry_on(void *user)
    {
        auto *job = static_cast<Job *>(user);
        EXPECT_EQ(job->runs, 1);
        job->carried_on.open();
    }
};

// Makes sure that there is a worker.
void start_worker()
{
    Client client;
    client.go_on.open();
    client.begin();
    client.ended.wait();
    EXPECT_TRUE(worker_remove(&client.client));
}

TEST(Worker, DoesWhatNobodyWaitsForAnyMore)
{
    start_worker();
    Job job;
    {
        const Patience little(CLOCK_MS);
        EXPECT_FALSE(worker_do(Job::run, Job::carry_on, &job));
    }
    Job second; // while the first keeps the worker
    second.go_on.open();
    EXPECT_TRUE(worker_do(Job::run, Job::carry_on, &second));
    EXPECT_EQ(second.runs, 1);
    EXPECT_NE(second.thread, std::this_thread::get_id());
    job.go_on.open();
    job.carried_on.wait();
    EXPECT_EQ(job.runs, 1);
    EXPECT_NE(job.thread, std::this_thread::get_id());
}

// One that hangs is waited for no longer than that.
TEST(Worker, IsNotWaitedForWhereItIsAtADisk)
{
    start_worker();
    Job job;
    {
        const Patience some(100 * CLOCK_MS);
        EXPECT_FALSE(worker_do(Job::run, Job::carry_on, &job));
        EXPECT_EQ(patience_limit(CLOCK_S), 0u);
        EXPECT_LT(patience_spend(CLOCK_S, CLOCK_S), CLOCK_S / 2) << "hardly any of it was spared";
    }
    job.go_on.open();
    job.carried_on.wait();
}

// How long this thread has waited for a core: Linux, Documentation/scheduler/sched-stats.rst.
uint64_t waited_for_core_ns()
{
    std::ifstream file("/proc/thread-self/schedstat");
    uint64_t ran_ns = 0, waited_ns = 0;
    file >> ran_ns >> waited_ns;
    return waited_ns;
}

// A job that waits for a core, which somebody else has.
struct Starving {
    cpu_set_t core;
    std::atomic<uint64_t> waited_ns{0};
    Gate ended;

    static void run(void *self)
    {
        static_cast<Starving *>(self)->starve();
    }

    void starve()
    {
        const uint64_t before_ns = waited_for_core_ns();
        EXPECT_EQ(sched_setaffinity(0, sizeof core, &core), 0);
        /* A tenth of what the hog has of the core. */
        const auto thread = static_cast<id_t>(gettid());
        EXPECT_EQ(setpriority(PRIO_PROCESS, thread, getpriority(PRIO_PROCESS, thread) + 10), 0);
        while (waited_ns < 100 * CLOCK_MS) {
            waited_ns = waited_for_core_ns() - before_ns;
        }
        ended.open();
    }
};

// A busy machine: the worker has to do with what one core has left. That is no disk.
TEST(Worker, IsWaitedForWhereItLacksACore)
{
    if (!std::ifstream("/proc/thread-self/schedstat")) {
        GTEST_SKIP() << "this kernel does not tell who waits for a core";
    }
    start_worker();
    Starving job;
    CPU_ZERO(&job.core);
    CPU_SET(sched_getcpu(), &job.core);
    std::atomic<bool> busy{true};
    std::thread hog([&] {
        EXPECT_EQ(sched_setaffinity(0, sizeof job.core, &job.core), 0);
        while (busy) {
        }
    });
    bool is_done = false;
    {
        const Patience little(50 * CLOCK_MS);
        is_done = worker_do(Starving::run, nullptr, &job);
    }
    busy = false;
    hog.join();
    job.ended.wait();
    if (!is_done && job.waited_ns >= PATIENCE_STARVED) {
        GTEST_SKIP()
            << "the machine is so busy that the worker lacked a core for longer than is left out";
    }
    EXPECT_TRUE(is_done);
}

// A slow machine: what it saves is hashed and copied. That is no disk either.
TEST(Worker, IsWaitedForWhileItComputes)
{
    if (!std::ifstream("/proc/thread-self/schedstat")) {
        GTEST_SKIP() << "this kernel does not tell who computes";
    }
    start_worker();
    const auto compute = [](void *) {
        const uint64_t before_ns = clock_thread_ran_ns();
        while (clock_thread_ran_ns() - before_ns < 60 * CLOCK_MS) {
        }
    };
    const uint64_t start_ns = clock_now_ns();
    const Patience little(20 * CLOCK_MS);
    const bool is_done = worker_do(compute, nullptr, nullptr);
    if (!is_done && clock_now_ns() - start_ns >= PATIENCE_STARVED) {
        GTEST_SKIP() << "the machine is so busy that this took longer than is left out";
    }
    EXPECT_TRUE(is_done);
}

// Ctrl-Z, or `docker pause`: neither the disk nor the worker is slow for that.
TEST(Worker, IsWaitedForWhereTheProcessIsStopped)
{
    start_worker();
    const auto stop_this_process = [](void *) {
        const pid_t self = getpid();
        const pid_t child = fork();
        if (child == 0) {
            kill(self, SIGSTOP);
            usleep(2000000); // more than the worker may lack a core
            kill(self, SIGCONT);
            _exit(0);
        }
        waitpid(child, nullptr, 0);
    };
    const Patience some(250 * CLOCK_MS);
    EXPECT_TRUE(worker_do(stop_this_process, nullptr, nullptr));
}

// A thread that is woken late each time has no more patience for that.
TEST(Worker, IsNotWaitedForByAThreadThatIsAlwaysLate)
{
    start_worker();
    Job job;
    ASSERT_EQ(prctl(PR_SET_TIMERSLACK, 50 * CLOCK_MS), 0);
    const uint64_t start_ns = clock_now_ns();
    {
        const Patience some(250 * CLOCK_MS);
        EXPECT_FALSE(worker_do(Job::run, Job::carry_on, &job));
    }
    EXPECT_LT(clock_now_ns() - start_ns, 6 * CLOCK_S) << "a slice for each time";
    ASSERT_EQ(prctl(PR_SET_TIMERSLACK, 0), 0);
    job.go_on.open();
    job.carried_on.wait();
}

// Those who end an instance or the process wait for it, and only as long as they have patience.
TEST(Worker, DoesBehindWhoeverGoesOn)
{
    start_worker();
    Job job;
    worker_do_behind(Job::run, &job);
    EXPECT_EQ(job.runs, 0);
    {
        const Patience little(CLOCK_MS);
        worker_await_behind();
    }
    EXPECT_EQ(job.runs, 0);
    job.go_on.open();
    {
        const Patience some(20 * CLOCK_S);
        worker_await_behind();
    }
    EXPECT_EQ(job.runs, 1);
    EXPECT_NE(job.thread, std::this_thread::get_id());
}

// Neither one that has begun nor one that is only next.
TEST(Worker, KeepsNoJobBehindOneThatNobodyWaitsFor)
{
    start_worker();
    for (int i = 0; i < 20; ++i) {
        Job left;
        worker_do_behind(Job::run, &left);
        Job job;
        job.go_on.open();
        bool is_done = false;
        {
            const Patience some(200 * CLOCK_MS);
            is_done = worker_do(Job::run, Job::carry_on, &job);
        }
        EXPECT_TRUE(is_done) << i;
        left.go_on.open();
        if (!is_done) {
            job.carried_on.wait();
        }
        worker_await_behind();
    }
}

TEST(Worker, DoesAJobWhileItIsInAnothersWork)
{
    Client client;
    client.begin();
    Job job;
    job.go_on.open();
    {
        const Patience some(20 * CLOCK_S);
        EXPECT_TRUE(worker_do(Job::run, Job::carry_on, &job));
    }
    EXPECT_EQ(job.runs, 1);
    EXPECT_NE(job.thread, std::this_thread::get_id()) << "here it would wait for the disk";
    client.go_on.open();
    EXPECT_TRUE(worker_remove(&client.client));
}

} // namespace
