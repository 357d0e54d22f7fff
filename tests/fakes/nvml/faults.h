#pragma once
// What the fake library is told to do wrong.
//
//   nvmlDeviceGetTemperature@3=15;nvmlDeviceGetName@*=hang;nvmlInit_v2=9;*@2=sleep:20ms;
//   nvmlDeviceGetFanSpeed=lie:250
//
// FUNCTION or *, then @DEVICE, then the fault. DEVICE: an index, "3.0" for the first MIG instance
// of GPU 3, * or nothing for all. The fault: a return code, "hang", "sleep:N ms" (then the true
// answer) or "lie:VALUE" (success with this value). The first that fits counts.

#include <chrono>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace fake_nvml {

struct Hang {};
struct Sleep {
  std::chrono::milliseconds how_long;
};
struct Lie {
  std::string value;
};
using Wrong = std::variant<int, Hang, Sleep, Lie>;

struct Fault {
  std::string function;
  std::string device;
  Wrong what;
};

/// Entries that cannot be read are left out, with a line on stderr.
[[nodiscard]] std::vector<Fault> parse_faults(std::string_view text);

/// `device`: empty for functions without one.
[[nodiscard]] const Fault* find_fault(const std::vector<Fault>& faults, std::string_view function,
                                      std::string_view device);

}  // namespace fake_nvml
