#pragma once
// Jobs for the stress program. These processes get a device through acquire(), and prove with a
// token outside the ledger that nobody else has it. Tests may fork and kill; src/ may only in one
// place.

#include <sys/types.h>

#include <functional>
#include <string>
#include <vector>

#include "run/acquire.h"

namespace berth::stress {

/// A folder with a ledger and the tokens; removed with everything in it at the end.
struct Scene {
  std::string folder;
  std::string ledger;  // directory
  std::string tokens;  // directory, mode 1777
  std::string log;     // a line per event, appended whole
};
Scene make_scene();
void remove_scene(const Scene& scene);

/// A server of 8 idle devices; SIMULATED.
Snapshot eight_devices();

/// Prints the line and ends the program as failed.
[[noreturn]] void give_up(const std::string& what);
/// Prints why and ends the program as skipped (77).
[[noreturn]] void skip(const std::string& why);
void expect(bool held, const std::string& what);

Ledger open_ledger(const Scene& scene, Clock& clock,
                   LedgerPlace::Kind kind = LedgerPlace::Kind::named);

/// The devices' tokens, created with O_EXCL: existing means somebody else has the device.
void take_token(const Scene& scene, const DeviceId& device);
void return_token(const Scene& scene, const DeviceId& device);

void log_line(const Scene& scene, const std::string& line);
std::vector<std::string> log_lines(const Scene& scene);

/// A child that runs `body` and exits with what it returns.
pid_t start(const std::function<int()>& body);
/// Exit status of the child, or 128 + signal.
int finish(pid_t child);

/// Leases, tickets and temporary files in the ledger.
std::vector<std::string> left_over(const Scene& scene);

AcquireOptions options_for(const std::string& run, int devices,
                           std::optional<std::chrono::milliseconds> wait);

// The proofs, one per file.
int race(int jobs, bool without_inotify, std::chrono::milliseconds hold);
int stopped_head();
int kill_points(bool waiter);
int two_users();

/// Jobs of `berth run`, for tests/e2e/storm.py: they leave marks on their devices, for so long.
/// Kinds: plain. child: a child does the work. bare: a child without descriptors and environment.
/// daemon: a bare child that outlives the job.
int device_job(const std::string& folder, const std::string& kind, std::chrono::milliseconds time,
               std::uint64_t gib);
int bare_job(const std::string& folder, const std::string& mark, std::chrono::milliseconds time,
             const std::vector<std::string>& devices);

}  // namespace berth::stress
