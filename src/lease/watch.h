#pragma once
// LedgerWatch: a hint that the ledger changed, by inotify. Only a hint, so its user also polls.
// Instances run out: 128 per user by default, shared with editors and file managers.

#include "base/fd.h"
#include "base/result.h"

namespace berth {

class LedgerWatch {
 public:
  /// Watches a ledger's directory for leases and tickets that end.
  /// io: no inotify instance left.
  [[nodiscard]] static Result<LedgerWatch> open(int directory);
  /// Readable when something ended.
  [[nodiscard]] int descriptor() const { return fd_.get(); }
  /// Forgets what was reported so far. True: there was something.
  bool drain();

 private:
  explicit LedgerWatch(Fd fd) : fd_(std::move(fd)) {}
  Fd fd_;
};

}  // namespace berth
