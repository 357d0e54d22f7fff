#pragma once
// Looking at the machine from outside: the sources are asked in a probe process, because a driver
// or a /proc file can block for ever, and a process with a thread stuck in the kernel cannot even
// exit. The caller gets what was learned by the deadline, and a Problem for what was not.

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "probe/process/child.h"
#include "probe/process/patience.h"
#include "snapshot/snapshot.h"
#include "snapshot/wanted.h"

namespace berth {

class Teller;

/// Which sources of truth there are. The roots are injected by tests and by `--root`.
struct Sources {
  std::string nvml_library = "libnvidia-ml.so.1";
  std::string proc = "/proc";
  std::string sys = "/sys";
  std::string pci_ids;  // empty: looked for where distributions put it
  std::string passwd = "/etc/passwd";
  std::string kernel_log = "/dev/kmsg";
  std::string root;  // before the paths of container runtimes and home directories
  /// A built-in scenario's name or a scenario file: then nothing else is asked.
  std::optional<std::string> simulated;
  /// A folder in which processes tell what they do on the simulated devices (probe/sim/work.h);
  /// nothing: those look busy that a lease names.
  std::optional<std::string> simulated_work;
  /// A snapshot or a recording (one snapshot per line): then nothing else is asked.
  std::optional<std::string> replay;
  /// What came through the pipe that `replay` names: it can be read once only.
  std::optional<Result<std::string>> piped;
};

/// Whether to look beyond the processes on the devices: at their parents, and at whoever has the
/// device files open (a look at every process of the machine).
enum class Relations { none, all };

struct ObserveOptions {
  Wanted wanted = Depth::everything;
  Relations relations = Relations::none;
  Patience patience = {};
  /// What the simulated server's leased devices should show: see probe/sim.
  std::vector<Claim> claims;
};

/// One look in a forked probe process. invalid: the scenario or the replay file cannot be read;
/// everything else that goes wrong is in the snapshot. `ending`, where given, becomes the probe
/// process on its way out; else it is waited for.
[[nodiscard]] Result<Snapshot> observe(const Sources& sources, const ObserveOptions& options,
                                       Clock& clock, EndingChild* ending = nullptr);

/// Looks again and again in the calling process, keeping what the driver wants kept (its handles,
/// the last sample's timestamps). For processes that may be lost: the sampler, the probe process of
/// a server.
class Observer {
 public:
  static Result<Observer> start(const Sources& sources);
  Observer(Observer&&) noexcept;
  Observer& operator=(Observer&&) noexcept;
  ~Observer();
  [[nodiscard]] Snapshot look(const Wanted& wanted, const std::vector<Claim>& claims, WallTime now);
  /// The same of a real machine, told step by step: for a probe process that may be given up.
  void ask(const Wanted& wanted, const std::vector<Claim>& claims, Teller& teller);

 private:
  struct Parts;
  explicit Observer(std::unique_ptr<Parts> parts);
  std::unique_ptr<Parts> parts_;
};

/// Names of the built-in scenarios with a sentence each.
struct ScenarioName {
  std::string_view name;
  std::string_view what;
};
[[nodiscard]] std::vector<ScenarioName> builtin_scenarios();

}  // namespace berth
