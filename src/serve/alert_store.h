#pragma once
// What `berth serve` keeps of alerts on disk, and what it asks disks for that. A disk may hang. So
// all but open() is done on a thread of its own, and nobody waits for it.

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "alert/rule_matches.h"
#include "alert/state.h"
#include "base/clock.h"
#include "base/fd.h"
#include "serve/workers.h"

namespace berth::serve {

class AlertStore {
 public:
  /// `simulated`: the simulated server, which has a file of its own and no toolkit.
  AlertStore(std::string state_directory, const std::optional<std::string>& simulated);

  struct Opened {
    AlertState state;               // what an earlier server left; empty where that is no use
    std::optional<Error> not_kept;  // why nothing is kept over a restart
    struct SetAside {
      Error why;
      std::string path;  // of the unusable file from now on
    };
    std::optional<SetAside> set_aside;
  };
  [[nodiscard]] Opened open(Clock& clock);

  /// Writes it when the one before has been written. False: not now, try again.
  [[nodiscard]] bool save(const std::string& text);
  /// Looks at disks and toolkit, once the look before has come back.
  void look_around();

  struct Around {
    std::vector<DiskUse> disks;
    std::optional<std::string> toolkit;  // as environment_of() takes it
  };
  /// As of the last look that came back.
  [[nodiscard]] Around around() const;
  /// Why the last save failed, once.
  [[nodiscard]] std::optional<std::string> take_trouble();

 private:
  /// The values that cross between the threads.
  struct Shared {
    mutable std::mutex mutex;  // guards all below
    Around around;
    std::optional<std::string> trouble;
    bool is_saving = false;
    bool is_looking = false;
    bool had_trouble = false;
  };

  std::string directory_;
  std::string path_;
  bool is_simulated_;
  bool keeps_ = false;
  Fd lock_;
  std::shared_ptr<Shared> shared_ = std::make_shared<Shared>();
  Workers saver_{1};
  Workers looker_{1};
};

}  // namespace berth::serve
