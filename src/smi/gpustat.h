#pragma once
// gpustat's output: one line per device, with who is on it, and its JSON. Its flags are not
// nvidia-smi's: -i is an interval, -c a command name.
//
//   [0] NVIDIA L40S | 64°C, 100 % |  1235 / 46068 MB | alice(538M) bob(681M)

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "smi/smi.h"
#include "snapshot/snapshot.h"

namespace berth::smi {

struct GpustatRequest {
  bool command = false;       // -c
  bool full_command = false;  // -f
  bool user = false;          // -u
  bool pid = false;           // -p
  bool fan = false;           // -F
  bool encoder = false;       // -e enc
  bool decoder = false;       // -e dec
  bool power = false;         // -P
  bool power_limit = false;   // -P limit
  bool json = false;
  bool header = true;
  bool processes = true;
  std::optional<bool> colour;  // --color, --no-color; nothing: as the terminal can
  std::optional<int> name_width;
  std::vector<std::string> devices;                // --id
  std::optional<std::chrono::milliseconds> every;  // -i
  std::optional<Output> said;  // help, version, or what is wrong: nothing to look at
};

[[nodiscard]] GpustatRequest parse_gpustat(const std::vector<std::string>& argv);
/// What it prints.
[[nodiscard]] Wanted wanted_by(const GpustatRequest& request);
/// Whether it prints how busy each process keeps the CPU, which takes a look at them before.
[[nodiscard]] bool prints_cpu(const GpustatRequest& request);
/// What that look is to read.
[[nodiscard]] Wanted wanted_before(const GpustatRequest& request);
[[nodiscard]] std::string render_gpustat(const Snapshot& snapshot, const GpustatRequest& request,
                                         bool colour, Clockface clockface,
                                         const Snapshot* before = nullptr);
[[nodiscard]] std::string render_gpustat_json(const Snapshot& snapshot,
                                              const GpustatRequest& request, Clockface clockface,
                                              const Snapshot* before = nullptr);
/// Why there is nothing to show; nothing: there is.
[[nodiscard]] std::optional<std::string> gpustat_failure(const Snapshot& snapshot,
                                                         const GpustatRequest& request);

}  // namespace berth::smi
