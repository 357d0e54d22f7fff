#pragma once
// What a run's sampler learns of the shim that holds the run. It learns the shim's charges, and
// whether the shim is in each process on the devices. It also learns what the driver measures and
// the shim cannot see.

#include <cstdint>
#include <deque>
#include <set>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/note.h"
#include "guard/account_file.h"
#include "record/run_record.h"
#include "run/account_watch.h"

namespace berth {

class ShimWatch {
 public:
  /// Does nothing where another tier holds the run. `directory`: of the record; empty: none.
  ShimWatch(const Manifest& manifest, const std::string& directory, std::string proc);

  /// The driver is going to be asked: what is charged until then may be in its answer.
  void before_look();
  /// `own`: the run's processes, as the driver told; `measured`: of each device, the sum of theirs.
  [[nodiscard]] std::vector<Note> after_look(const std::vector<ProcessSample>& own,
                                             const std::vector<Reading<Bytes>>& measured,
                                             Clock& clock);
  [[nodiscard]] const CapSeen& seen() const { return seen_; }
  /// Since it was asked last.
  [[nodiscard]] bool has_changed();

 private:
  void look_at_account(const std::vector<ProcessSample>& own, Clock& clock,
                       std::vector<Note>& news);
  void tell_measured(const std::vector<Reading<Bytes>>& measured,
                     const std::vector<AccountFile::Told>& after);
  void learn_contexts(const std::vector<ProcessSample>& own,
                      const std::vector<AccountFile::Told>& after);
  [[nodiscard]] std::vector<Note> look_into(const std::vector<ProcessSample>& own, Clock& clock);

  std::string image_;  // empty: no shim
  std::string proc_;
  std::optional<AccountFile> account_;
  std::vector<AccountFile::Told> before_;
  /// For each device: what the last looks measured above the charges.
  std::vector<std::deque<std::uint64_t>> above_;
  std::set<pid_t> looked_into_;
  AccountWatch slots_;
  CapSeen seen_;
  CapSeen told_;
  /// For the memory of contexts, which the user's next runs use. It is learned on the run's
  /// devices, as they were given.
  std::string state_directory_;
  std::vector<Device> devices_;
  Host host_;
};

}  // namespace berth
