#pragma once
// A command line of docker, podman or nerdctl that starts a container. It is read as its engine
// reads it: options of the engine, options of `run`, image. Pure.

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace berth {

/// One option, as it was typed.
struct ContainerOption {
  std::string name;      // the long form without dashes: "env" for -e
  std::string value;     // of a switch: "true", or what stands behind its "="
  std::size_t word = 0;  // where it stands
  /// The place of its letter in a word of short options ("-ite"); 0: a long option.
  std::size_t letter = 0;
  bool takes_next = false;  // its value is the next word
  /// "--gpus all", "-e X=1"
  [[nodiscard]] std::string text(const std::vector<std::string>& words) const;
};

struct ContainerCommand {
  std::string engine;  // "docker", "podman", "nerdctl"
  std::vector<std::string> words;
  std::size_t act = 0;                          // where "run" stands
  std::size_t image = 0;                        // where the image stands; the end: none is named
  std::vector<ContainerOption> engine_options;  // before "run"
  std::vector<ContainerOption> options;         // of "run"

  /// The last of an option is what counts; null: it is not there.
  [[nodiscard]] const ContainerOption* find(std::string_view name) const;
  /// Whether a switch is on.
  [[nodiscard]] bool has(std::string_view name) const;
  /// The program and its own options: what another command to the same engine begins with.
  [[nodiscard]] std::vector<std::string> engine_words() const;
  [[nodiscard]] std::string image_name() const;
};

/// Nothing: another command, by its first word and what the engine is told to do. invalid: an
/// option is not known, so the image's position cannot be told. The error says how to write it.
[[nodiscard]] Result<std::optional<ContainerCommand>> read_container_command(
    const std::vector<std::string>& command);

/// The command without these options.
[[nodiscard]] std::vector<std::string> without_options(
    const ContainerCommand& command, const std::vector<const ContainerOption*>& options);

}  // namespace berth
