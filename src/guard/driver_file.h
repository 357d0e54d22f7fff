#pragma once
// The driver's library that a job's programs would load: libcuda.so.1, found as their loader finds
// it. That is by LD_LIBRARY_PATH, where a compat driver may stand, by the loader's cache, and in
// its default folders.

#include <expected>
#include <string>
#include <string_view>
#include <vector>

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

/// What "$LIB" is to this machine's loader: "lib64", "lib/x86_64-linux-gnu".
[[nodiscard]] std::string loader_lib();

/// The files that the loader's cache (/etc/ld.so.cache) has for `name`, for our 64-bit programs, in
/// its order. A damaged cache has none.
[[nodiscard]] std::vector<std::string> files_in_loader_cache(std::string_view cache,
                                                             std::string_view name);

}  // namespace berth
