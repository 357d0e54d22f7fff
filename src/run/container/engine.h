#pragma once
// What a container engine is and says: asked by its own program, as a user would.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/reading.h"
#include "base/result.h"
#include "record/run_container.h"
#include "run/container/command.h"
#include "run/container/plan.h"
#include "run/run.h"

namespace berth {

/// Asks the engine where it is, which CDI files it reads and what it gives GPUs by. io, timeout: it
/// does not answer; says what it said. `root` stands before each path that is looked at.
[[nodiscard]] Result<ContainerEngine> ask_container_engine(
    const ContainerCommand& command, const std::vector<std::string>& environment, Clock& clock,
    const std::string& root = "");

/// The engine of this command. Fails if the command contradicts the lease, or if the engine cannot
/// be given devices. For a simulated server no engine is asked.
[[nodiscard]] Result<ContainerEngine> fit_container(const ContainerCommand& command,
                                                    const RunOptions& options,
                                                    const RunServices& services);

/// The value of CUDA_VISIBLE_DEVICES that this command's image sets. Nothing: it sets none, the
/// image is not here, or the engine does not answer fast.
[[nodiscard]] std::optional<std::string> devices_set_by_image(
    const ContainerCommand& command, const std::vector<std::string>& environment, Clock& clock);

/// Those of a caller's variables that say which engine its program asks.
[[nodiscard]] std::vector<std::pair<std::string, std::string>> engine_variables(
    const std::vector<std::string>& environment);

/// One container, as `inspect` tells of it.
struct InspectedContainer {
  std::string id;
  std::string run;  // of the label; empty: it has none
  bool is_running = false;
  bool has_started = false;  // false: made, and not started yet
  pid_t process = 0;         // 0: the engine does not say
  Reading<int> exit_code = Absent::not_sampled;
  Reading<bool> oom_killed = Absent::unsupported;
  std::string image;
  std::string image_id;
  std::string image_digest;  // empty: asked for with the image, of docker and nerdctl
  /// CUDA_VISIBLE_DEVICES inside, of its image; nothing: not set.
  std::optional<std::string> visible_devices;
  friend bool operator==(const InspectedContainer&, const InspectedContainer&) = default;
};

/// Whether an engine's program answered that it has no such container. `error`: its standard error.
[[nodiscard]] bool says_no_such_container(std::string_view error);

/// Reads what docker, podman and nerdctl print; several at a time.
[[nodiscard]] Result<std::vector<InspectedContainer>> parse_inspected(std::string_view json);

/// An image, as `image inspect` tells of it.
struct InspectedImage {
  std::string id;                                     // "sha256:…"; empty: not told
  Reading<std::string> digest = Absent::unsupported;  // it came from no registry
};
/// If an image is in several repositories: the digest in that of `name`.
[[nodiscard]] Result<InspectedImage> parse_inspected_image(std::string_view json,
                                                           std::string_view name);

/// The command that prints the exit code of a container that has ended and is removed. It prints
/// one line for each end, and returns at once. Empty: the engine's `wait` misses none.
[[nodiscard]] std::vector<std::string> words_for_code_in_events(const RunContainer& container);

/// "docker -H unix:///x inspect ID" as words.
[[nodiscard]] std::vector<std::string> engine_command(const RunContainer& container,
                                                      std::vector<std::string> words);

}  // namespace berth
