#pragma once
// Whether the driver is still the one that the run began with. Tells once if another version
// answers, and once if a lost device answers again (it was reset).

#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/note.h"
#include "run/faults.h"
#include "snapshot/snapshot.h"

namespace berth {

class DriverWatch {
 public:
  /// The host and the devices as of the choice.
  explicit DriverWatch(Snapshot given) : given_(std::move(given)) {}

  /// "driver_changed", "gpu_back"
  [[nodiscard]] std::vector<Note> news(const Snapshot& look);

 private:
  void add_returns(const Snapshot& look, std::vector<Note>& news);

  Snapshot given_;
  std::set<Runtime> told_changes_;
  std::set<DeviceId> lost_;
  std::set<DeviceId> returned_;
};

// Whether the driver can still be asked for the run's devices. If it cannot, the first look tells.
// Counting the devices as failed may end the job, so that is told only when it is sure.
//
// It is sure if the driver's library answers look after look, with errors alone. It is also sure if
// the library stays silent for longer than anything takes, also when asked anew. Some failures say
// nothing of the devices and stay in doubt, however long they last. Examples: our probe process
// died, the library or the module is being exchanged, files or memory are short. Or a container
// lost its access. A job that has its devices open goes on through all of that.

struct SilenceNews {
  std::vector<Note> events;       // "driver_silent", "driver_answers"
  std::vector<FaultNews> faults;  // of each device of the run, when it is sure
  friend bool operator==(const SilenceNews&, const SilenceNews&) = default;
};

class DriverSilence {
 public:
  /// Whether this process may ask the driver at all: that its own means are there.
  enum class Means { there, lacking };

  /// So many looks in a row, each of which asked anew, with nothing but errors.
  static constexpr int sure_after_looks = 10;
  /// So long without a word. A silent library is asked anew after 10 s, then after 20 more, by a
  /// new process each time.
  static constexpr Duration sure_after_silence = std::chrono::seconds(35);

  explicit DriverSilence(const std::vector<Device>& given);

  [[nodiscard]] SilenceNews news(const Snapshot& look, Means means, Instant now);

 private:
  /// Looks in a row that leave no doubt.
  struct SilentDevice {
    Instant since;
    int looks = 0;
    bool errors_only = true;
  };
  void add_faults(Instant now, SilenceNews& news);
  [[nodiscard]] bool is_sure(Instant now) const;

  std::vector<std::pair<std::size_t, std::string>> asked_;  // place among the run's, and its name
  std::set<std::string_view> drivers_;                      // of those, as SourceReport::source
  std::optional<Instant> unheard_since_;
  std::optional<SilentDevice> row_;
  bool told_fault_ = false;
  int told_ = 0;
};

}  // namespace berth
