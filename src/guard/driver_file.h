#pragma once
// The driver's library that a job's programs would load: libcuda.so.1, found as their loader finds
// it. That is by LD_LIBRARY_PATH, where a compat driver may stand, by the loader's cache, and in
// its default folders.

#include <expected>
#include <string>

#include "base/sentence.h"
#include "guard/shared_object.h"

namespace berth {

struct DriverQuestion {
  std::string library_path;       // the job's LD_LIBRARY_PATH
  std::string working_directory;  // what its relative folders start from
  std::string root;               // before paths that the system owns (tests)
};

struct DriverFile {
  std::string path;
  SharedObject object;
};

/// Why there is none to stand in for, where it is unexpected. A shim of ours is passed over: the
/// job runs inside another run, whose driver comes later.
[[nodiscard]] std::expected<DriverFile, Sentence> find_driver(const DriverQuestion& question);

}  // namespace berth
