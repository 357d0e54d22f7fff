#pragma once
// The files of a configuration. Each is read only where nobody but its owner and root can write it:
// its writer decides over jobs.

#include <sys/types.h>

#include <optional>
#include <string>

#include "config/config.h"

namespace berth {

/// Where they are; empty: there is none of that kind.
struct ConfigPlaces {
  std::string machine;            // "/etc/berth/config.toml"
  std::string user;               // "~/.config/berth/config.toml"
  std::string working_directory;  // the project's is in it, or in a folder above it
};

/// The project's file: the user's nearest berth.toml in the folder or above it, as far up as the
/// folders are the user's. Another's folder is not looked into: it may be a mount that waits for a
/// server. Empty: there is none.
[[nodiscard]] std::string find_project_file(const std::string& working_directory);

/// The text of a file that is ours or root's, in a folder that is. Nobody else can write either.
/// not_found: there is none. no_permission: says who else could write it, and what to do.
/// `by`: nobody else's will do.
[[nodiscard]] Result<std::string> read_config_file(const std::string& path,
                                                   std::optional<uid_t> by = std::nullopt);

/// Keeps beside the machine's file what root's `berth isolate --check` found, for this kernel.
[[nodiscard]] Result<void> note_isolation_check(const std::string& folder, bool works);
/// Why the machine's file may not isolate each job; empty: it was shown here that jobs work so.
[[nodiscard]] Sentence doubt_of_isolation(const std::string& folder, uid_t owner);

/// Adds what the files say; one that cannot be read, or must not be, is a mistake.
void add_files(Config& config, const ConfigPlaces& places);

}  // namespace berth
