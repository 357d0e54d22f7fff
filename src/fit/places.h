#pragma once
// Where an estimate fits: on the devices here with what is free of them now, and on any card of the
// table.

#include <optional>
#include <string>
#include <vector>

#include "base/reading.h"
#include "cards/card.h"
#include "fit/estimate.h"
#include "snapshot/questions.h"

namespace berth {

/// A device here with room for a newcomer.
struct DeviceHere {
  std::optional<int> index;
  std::string name;
  Reading<Bytes> free;  // what could be promised to somebody now
  Reading<Bytes> total;
  DeviceState state = DeviceState::free;
};
struct DeviceVerdict {
  DeviceHere device;
  std::optional<Verdict> now;       // nothing: what is free cannot be told
  std::optional<Verdict> if_empty;  // with all of its memory
};
[[nodiscard]] std::vector<DeviceVerdict> judged(const std::vector<DeviceHere>& devices,
                                                const ByteRange& need);
/// How many of them have this verdict now.
[[nodiscard]] std::size_t count_of(const std::vector<DeviceVerdict>& devices, Verdict verdict);

struct CardVerdict {
  const Card* card = nullptr;
  Verdict verdict = Verdict::too_small;
  /// It has no arithmetic of this precision: far slower, or not at all. Nothing: not known, as no
  /// source has its rates.
  std::optional<bool> lacks_precision = false;
};
/// Every card of the table, the smallest memory first, of equals the slowest memory first.
[[nodiscard]] std::vector<CardVerdict> judged_cards(const ByteRange& need, Precision precision);

/// The fewest GPUs (2, 4, 8 … 1024) of this memory over which it surely fits, sharded as `with`.
/// Tensor parallel takes no more GPUs than the model has heads. Nothing: not even so.
[[nodiscard]] std::optional<std::uint64_t> fewest_gpus(const Model& model, const Workload& workload,
                                                       Sharding with, Bytes room);

}  // namespace berth
