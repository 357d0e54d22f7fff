#pragma once
// Which sources of truth there are.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace berth {

/// The roots are injected by tests and by `--root`.
struct Sources {
  std::string nvml_library = "libnvidia-ml.so.1";
  std::string proc = "/proc";
  std::string sys = "/sys";
  std::string pci_ids;  // empty: looked for where distributions put it
  std::string passwd = "/etc/passwd";
  std::string kernel_log = "/dev/kmsg";
  std::string root;  // before the paths of container runtimes, home directories, /opt
  /// A built-in scenario's name or a scenario file: then nothing else is asked.
  std::optional<std::string> simulated;
  /// A folder in which processes tell what they do on the simulated devices (probe/sim/work.h);
  /// nothing: those look busy that a lease names.
  std::optional<std::string> simulated_work;
};

/// How often somebody looks at them.
enum class Looks { once, again };

/// Names of the built-in scenarios with a sentence each.
struct ScenarioName {
  std::string_view name;
  std::string_view what;
};
[[nodiscard]] std::vector<ScenarioName> builtin_scenarios();

}  // namespace berth
