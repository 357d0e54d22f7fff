#pragma once
// NVIDIA's container toolkit: docker's --gpus, its runtime and its variable are its contract, and
// for that maker's cards alone. What is said of it stands here.

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/variables.h"
#include "run/container/plan.h"
#include "snapshot/device.h"

namespace berth {

/// What gives a container no card. An image may ask for all cards by itself: most of CUDA's do.
[[nodiscard]] std::vector<std::string> words_for_no_card();

/// Whether an engine's toolkit gives it (--gpus, CDI).
[[nodiscard]] bool is_given_by_toolkit(const Device& device);

/// Whether an option of `docker run` asks for some cards, of whatever maker.
[[nodiscard]] bool asks_for_cards(std::string_view option, std::string_view value);

/// Nothing gives this engine the device (empty: any device); says what to do.
[[nodiscard]] Error no_device_way(const ContainerCommand& command, std::string_view device,
                                  const ContainerEngine& engine);

/// A job's variables, and where its command starts enroot or apptainer, the cards for their tools
/// as well: these ask an image else, which often wants all. enroot hands none of the others on.
[[nodiscard]] std::vector<Variable> with_cards_for_tools(std::vector<Variable> variables,
                                                         const std::vector<std::string>& command);

}  // namespace berth
