#pragma once
// What `berth serve` keeps of alerts on disk, and what it asks disks for their sake. A disk may
// hang: all but open() is done on a thread of its own, and who waits for it is nobody.

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

namespace berth {

class AlertStore {
 public:
  /// `simulated`: the simulated server, which has a file of its own and no toolkit.
  AlertStore(std::string state_directory, const std::optional<std::string>& simulated);

  /// What an earlier server left. Where something is wrong with it the state is empty and `notes`
  /// says what; then it may also be that nothing is kept.
  [[nodiscard]] AlertState open(Clock& clock, std::vector<std::string>& notes);

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
  /// What crosses between the threads.
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
  serve::Workers saver_{1};
  serve::Workers looker_{1};
};

}  // namespace berth
