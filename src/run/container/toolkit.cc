#include "run/container/toolkit.h"

#include <algorithm>
#include <array>

#include "base/text.h"
#include "run/command_words.h"
#include "snapshot/device_kind.h"

namespace berth {

namespace {
constexpr std::string_view nvidia_variable = "NVIDIA_VISIBLE_DEVICES";
}

std::vector<std::string> words_for_no_card() {
  return {"-e", std::string(nvidia_variable) + "=void"};
}

bool is_given_by_toolkit(const Device& device) {
  const DeviceKindFacts& facts = facts_of(device.kind);
  return !facts.is_given_by_files && !facts.cdi_kind.empty();
}

bool asks_for_cards(std::string_view option, std::string_view value) {
  if (option == "--gpus") return true;
  if (option == "--runtime") return value == "nvidia";
  if (option == "--device") {
    return std::ranges::any_of(device_kinds(), [&](const DeviceKindFacts& kind) {
      return (!kind.cdi_kind.empty() && value.starts_with(std::string(kind.cdi_kind) + "=")) ||
             std::ranges::any_of(kind.numbered_files,
                                 [&](std::string_view file) { return value.starts_with(file); });
    });
  }
  const std::string_view name = value.substr(0, value.find('='));
  const bool is_meant =
      contains(choosing_variables(), name) ||
      (!name.empty() && std::ranges::any_of(device_kinds(), [&](const DeviceKindFacts& kind) {
        return kind.toolkit_variable == name;
      }));
  if (!is_meant || name.size() == value.size()) return false;
  constexpr std::array<std::string_view, 4> none = {"", "void", "none", "-1"};
  return std::ranges::find(none, value.substr(name.size() + 1)) == none.end();
}

Error no_device_way(const ContainerCommand& command, std::string_view device,
                    const ContainerEngine& engine) {
  Sentence why;
  if (engine.cdi_folders.empty()) {
    why = sentence(
        "this {} knows no CDI, and NVIDIA's container toolkit is not installed here: install "
        "it (nvidia-container-toolkit)",
        command.engine);
  } else {
    why = sentence(
        "no CDI file in {} has {}: write one with `sudo nvidia-ctk cdi generate "
        "--output=/etc/cdi/nvidia.yaml`, of NVIDIA's container toolkit. `berth doctor` reads those "
        "that are there",
        joined(engine.cdi_folders, ", "),
        device.empty() ? sentence("a GPU") : Sentence::as_is(printable(device)));
  }
  return Error(ErrorCode::io, "nothing here gives a container of {} its GPU: {}", command.engine,
               why);
}

std::vector<Variable> with_cards_for_tools(std::vector<Variable> variables,
                                           const std::vector<std::string>& command) {
  const auto programs = programs_started_by(command);
  const bool is_for_tools = std::ranges::any_of(programs, [](const std::string& name) {
    const StartsElsewhere* program = starts_elsewhere(name);
    return program != nullptr && program->containers && program->descends;
  });
  if (!is_for_tools) return variables;
  const auto own = std::ranges::find(variables, "CUDA_VISIBLE_DEVICES", &Variable::first);
  const bool has_cards = own != variables.end() && !own->second.empty() && own->second != "-1";
  const std::string cards = has_cards ? own->second : "void";
  variables.emplace_back(nvidia_variable, cards);
  return variables;
}

}  // namespace berth
