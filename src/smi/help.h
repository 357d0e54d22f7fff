#pragma once
// What `berth smi -h` and the -h of its words say. Not nvidia-smi's own text: what is answered
// here, and what is not.

#include <string>

#include "smi/smi.h"

namespace berth::smi {

[[nodiscard]] std::string help_text();
[[nodiscard]] std::string monitor_help(SmiRequest::What what);
[[nodiscard]] std::string topology_help();
[[nodiscard]] std::string nvlink_help();

}  // namespace berth::smi
