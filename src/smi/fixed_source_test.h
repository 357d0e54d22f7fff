#pragma once
// A source that shows the same snapshot however often it is asked. For tests alone.

#include <utility>

#include "smi/smi.h"

namespace berth::smi {

class Fixed final : public Source {
 public:
  explicit Fixed(Snapshot snapshot) : snapshot_(std::move(snapshot)) {}
  Snapshot look(const Wanted&) override { return snapshot_; }

 private:
  Snapshot snapshot_;
};

}  // namespace berth::smi
