#pragma once
// The container of a run: what its engine was asked, what it is, and how it ended. The record's
// container.json, which the keeper writes and everybody else reads.

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "base/reading.h"
#include "base/result.h"

namespace berth {

struct RunContainer {
  std::string engine;  // "docker"
  /// The engine's program and its own options: what any other command to it begins with.
  std::vector<std::string> engine_words;
  /// Variables that say which engine that is (DOCKER_HOST).
  std::vector<std::pair<std::string, std::string>> environment;
  std::vector<std::string> added;  // what berth put into the command
  std::string cid_file;
  std::string id;  // its 64 digits; empty: none was made yet
  std::string image;
  std::string image_id;  // "sha256:…" of its configuration; empty: not told
  /// As a registry has it, "sha256:…". unsupported: it came from none; failed: the engine did not
  /// say.
  Reading<std::string> image_digest = Absent::not_sampled;
  /// Its first process as it is numbered here; nothing: it cannot be seen or told from others.
  std::optional<ProcessId> process;
  /// The engine's client has ended and the container lives on.
  bool is_left = false;
  std::optional<WallTime> ended;  // nothing: it lives, or was not seen to end
  /// unsupported: the engine does not say, or had removed it.
  Reading<int> exit_code = Absent::not_sampled;
  Reading<bool> oom_killed = Absent::not_sampled;
  friend bool operator==(const RunContainer&, const RunContainer&) = default;
};

void walk(class Archive& archive, RunContainer& container);
[[nodiscard]] std::string run_container_to_json(const RunContainer& container);
[[nodiscard]] Result<RunContainer> run_container_from_json(std::string_view text);
/// From a record's directory. Nothing: it is no run of a container, or an older berth's.
[[nodiscard]] std::optional<RunContainer> run_container_in(const std::string& directory);

/// The first 12 digits, as engines show it.
[[nodiscard]] std::string short_container_id(std::string_view id);
/// Whether it is what engines call a container by: 64 digits of hexadecimal.
[[nodiscard]] bool is_container_id(std::string_view id);

}  // namespace berth
