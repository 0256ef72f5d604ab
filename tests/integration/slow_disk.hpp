// SPDX-License-Identifier: Apache-2.0
// A disk that does not answer, or gives no locks: from the layer's own system calls to where they
// come from.
#ifndef WARMPIPE_TESTS_SLOW_DISK_HPP
#define WARMPIPE_TESTS_SLOW_DISK_HPP

// From here on calls of this name (fsync, openat, faccessat, unlinkat) hang, those with a path only
// if it holds this text; a process that has not ended after half a minute is aborted. Both live as
// long as the process.
void disk_hangs(const char *call, const char *text = "");

// The disk answers again, also those that wait.
void disk_answers();

// Whether a call has hung.
bool disk_has_hung();

// From here on each flock(2) is refused, LOCK_UN too: AppArmor without `k`.
void locks_are_forbidden();

#endif
