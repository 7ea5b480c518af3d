// Numbered tasks on several threads, with progress and cancellation.
#pragma once
#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <exception>
#include <functional>
#include <mutex>
#include <new>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

namespace hedgerow {

// Thrown inside a task that was told to stop; never leaves run_tasks.
struct Stopped {};

// Shared between the tasks of one call and the calling thread.
class Control {
public:
    // look_on(done) runs on the calling thread a few times a second; true means stop.
    explicit Control(std::function<bool(std::size_t)> look_on = {}) : look_on_(std::move(look_on)) {}

    void stop() { stopping_.store(true, std::memory_order_relaxed); }
    bool stopping() const { return stopping_.load(std::memory_order_relaxed); }

    // Called by tasks often, for instance once per node. It is cheap: one load, and on the calling thread a clock
    // reading every 64 calls.
    void tick(bool calling_thread) {
        if (stopping()) throw Stopped{};
        if (calling_thread && (++ticks_ & 63) == 0) look_on();
    }
    void look_on() {
        const auto now = std::chrono::steady_clock::now();
        if (!look_on_ || now - last_look_ < std::chrono::milliseconds(100)) return;
        last_look_ = now;
        if (look_on_(done.load())) stop();
    }

    std::atomic<std::size_t> done{0};

private:
    std::function<bool(std::size_t)> look_on_;
    std::atomic<bool> stopping_{false};
    std::chrono::steady_clock::time_point last_look_ = std::chrono::steady_clock::now();
    unsigned ticks_ = 0;
};

// Runs work(task, thread) for tasks 0 … n_tasks-1, handed out in order. Thread 0 is the caller, which always works: if
// no more threads can be started, those that have started do everything. An exception in a task stops the others and is
// rethrown here; no thread outlives the call.
inline void run_tasks(std::size_t n_tasks, std::size_t n_threads, Control& control,
                      const std::function<void(std::size_t, std::size_t)>& work) {
    std::atomic<std::size_t> next{0};
    std::exception_ptr failure;
    std::mutex mutex;
    std::condition_variable finished;
    std::size_t n_finished = 0;

    auto loop = [&](std::size_t thread) {
        try {
            for (std::size_t task; !control.stopping() && (task = next.fetch_add(1)) < n_tasks;) {
                work(task, thread);
                control.done.fetch_add(1);
                if (thread == 0) control.look_on();
            }
        } catch (const Stopped&) {
        } catch (...) {
            const std::scoped_lock lock(mutex);
            if (!failure) failure = std::current_exception();
            control.stop();
        }
    };

    n_threads = std::max<std::size_t>(1, std::min(n_threads, n_tasks));
    std::vector<std::thread> threads;
    try {
        threads.reserve(n_threads - 1);
        for (std::size_t thread = 1; thread < n_threads; ++thread)
            threads.emplace_back([&, thread] {
                loop(thread);
                const std::scoped_lock lock(mutex);
                ++n_finished;
                finished.notify_one();
            });
    } catch (const std::system_error&) {  // no more threads available
    } catch (const std::bad_alloc&) {     // no memory to start one
    }
    loop(0);
    if (!threads.empty()) {
        std::unique_lock<std::mutex> lock(mutex);
        while (n_finished < threads.size()) {
            finished.wait_for(lock, std::chrono::milliseconds(50));
            lock.unlock();
            try {
                control.look_on();
            } catch (...) {
                const std::scoped_lock guard(mutex);
                if (!failure) failure = std::current_exception();
                control.stop();
            }
            lock.lock();
        }
    }
    for (std::thread& thread : threads) thread.join();
    if (failure) std::rethrow_exception(failure);
}

}  // namespace hedgerow
