#pragma once
// A folder in which files lie that all programs of a job execute: nobody else can put anything
// there.

#include <expected>
#include <string>
#include <string_view>

#include "base/sentence.h"

namespace berth {

/// Makes the folder and missing ones above it, for its owner alone (root's: others may read). Gives
/// its path without links. Unexpected: why it will not do. It is ours; each folder above is root's
/// or ours, and nobody else may write there unless it is sticky. Its file system allows to execute.
/// Its path fits into LD_PRELOAD.
[[nodiscard]] std::expected<std::string, Sentence> make_shim_folder(const std::string& path);

enum class Written { as_it_was, newly, anew };
/// Leaves `path` with exactly these bytes. anew: there was something else.
[[nodiscard]] std::expected<Written, Sentence> write_shim_file(const std::string& path,
                                                               std::string_view bytes);
/// The same of a symbolic link.
[[nodiscard]] std::expected<Written, Sentence> write_shim_link(const std::string& path,
                                                               const std::string& target);

/// Whether a program may be executed from this file, tried as the loader does. Empty: it may.
[[nodiscard]] Sentence why_not_executable(const std::string& path);

inline constexpr int sweep_after_days = 90;
/// Removes folders beside `kept` whose shim no run has used for so long. A folder that a living
/// process of this user has in its environment stays.
void sweep_shim_folders(const std::string& kept, const std::string& proc);

}  // namespace berth
