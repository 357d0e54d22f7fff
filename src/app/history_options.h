#pragma once
// What verbs that read the history share: which file, which time, and what it tells of devices that
// are idle.

#include <string>

#include "app/context.h"
#include "app/options.h"
#include "base/result.h"
#include "record/history/reader.h"
#include "view/idle_list.h"

namespace berth {

class HistoryOptionWords {
 public:
  void declare(Options& options);
  /// The store that was named, else this user's, else the machine's. not_found: none is there yet,
  /// and what to do about it.
  [[nodiscard]] Result<HistoryReader> open(const Context& context) const;

  struct Window {
    WallTime since;
    WallTime until;
  };
  /// invalid: says what a time looks like.
  [[nodiscard]] Result<Window> window(WallTime now, const std::string& default_since) const;

 private:
  std::string store_;
  std::string since_;
  std::string until_;
};

/// Of the devices that somebody holds, for the last day. Says why there is none.
[[nodiscard]] IdleEvidence idle_evidence(const Context& context, const Snapshot& snapshot);

}  // namespace berth
