#pragma once
// The shim as files, and how a job's programs come to load it. The image for the job's driver lies
// in a folder of the user's own. The folder's name is made of the image's bytes:
//
//   FOLDER/libcuda.so.1                       for LD_LIBRARY_PATH
//   FOLDER/libcuda.so                         a link to it
//   FOLDER/berth-shim.so                      a link to it, for LD_PRELOAD
//   FOLDER/lib64/libcuda.so.1, …   links to it: "$LIB" as loaders of 64-bit programs read it
//   FOLDER/lib32/libcuda.so.1, …   an object without content, for loaders of 32-bit programs
//
// Where 32-bit programs can run, LD_PRELOAD has FOLDER/$LIB/libcuda.so.1 instead, as a loader
// complains of an object of the other kind. Only there, as a loader that meets "$LIB" first asks
// /proc for the program's path: 15 µs of each start. Either entry is ignored for setuid programs,
// because it has slashes.

#include <sys/types.h>

#include <expected>
#include <string>
#include <string_view>
#include <vector>

#include "base/sentence.h"
#include "base/variables.h"
#include "guard/driver_file.h"

namespace berth {

struct ShimQuestion {
  std::vector<std::string> environment;  // the job's, as NAME=value
  std::vector<std::string> programs;  // that its command starts, without folders, as far as known
  std::string working_directory;
  /// Where the image may lie, best first: `shim_folders()`.
  std::vector<std::string> folders;
  std::string_view shim_template;  // `shim_template()`
  std::string root;                // before paths that the system owns (tests)
  std::string glibc;               // the version that programs have here; empty: ours
};

struct Shim {
  std::string folder;
  std::string image;    // FOLDER/libcuda.so.1, as /proc/PID/maps shows it
  std::string preload;  // its word in LD_PRELOAD
  std::string driver;   // what the image opens
  std::string driver_build_id;
  /// What the user may want to know: a file that had been changed, whose preloads come first.
  std::vector<Sentence> said;
};

/// Writes the image if it is not there as it should be. Unexpected: why the shim steps aside.
[[nodiscard]] std::expected<Shim, Sentence> prepare_shim(const ShimQuestion& question);

/// What puts the shim into a job's environment. Entries of the user stay, and come before it: some
/// libraries refuse to work when they are not the first one preloaded. Pure.
[[nodiscard]] std::vector<Variable> shim_variables(const std::vector<std::string>& environment,
                                                   const Shim& shim,
                                                   const std::string& account_file);

/// Folders for images: the cache, /var/tmp, /tmp, the runtime directory. Root's can be searched by
/// all, because its jobs may go on as another user, and not in its home. Pure.
[[nodiscard]] std::vector<std::string> shim_folders(const std::vector<std::string>& environment,
                                                    uid_t user);

/// The template that this program was built with, unpacked; empty: it was built without.
[[nodiscard]] std::string shim_template();

}  // namespace berth
