#include "fit/places.h"

#include <algorithm>
#include <tuple>

#include "cards/card.h"
#include "cards/rates.h"

namespace berth {

namespace {

std::optional<bool> lacks(const Card& card, Precision precision) {
  const bool is_everywhere =
      precision == Precision::fp32 || precision == Precision::int8 || precision == Precision::int4;
  if (!is_everywhere && !card.has_capability() && card.published == nullptr) return std::nullopt;
  const auto missing = lacks_of(card);
  const auto has_no = [&](Lack lack) { return std::ranges::find(missing, lack) != missing.end(); };
  switch (precision) {
    case Precision::bf16:
      return has_no(Lack::bf16);
    case Precision::tf32:
      return has_no(Lack::tf32);
    case Precision::fp8:
      return has_no(Lack::fp8);
    case Precision::fp16:
      return has_no(Lack::fast_fp16);
    case Precision::fp32:
    case Precision::int8:
    case Precision::int4:
      return false;
  }
  return false;
}

std::optional<Verdict> verdict_for(const Reading<Bytes>& room, const ByteRange& need) {
  if (!room.get()) return std::nullopt;
  return verdict_of(need, *room.get());
}

}  // namespace

std::vector<DeviceVerdict> judged(const std::vector<DeviceHere>& devices, const ByteRange& need) {
  std::vector<DeviceVerdict> all;
  for (const DeviceHere& device : devices) {
    all.push_back({device, verdict_for(device.free, need), verdict_for(device.total, need)});
  }
  return all;
}

std::size_t count_of(const std::vector<DeviceVerdict>& devices, Verdict verdict) {
  return static_cast<std::size_t>(
      std::ranges::count_if(devices, [&](const DeviceVerdict& one) { return one.now == verdict; }));
}

std::vector<CardVerdict> judged_cards(const ByteRange& need, Precision precision) {
  std::vector<CardVerdict> all;
  for (const Card& card : all_cards()) {
    all.push_back({&card, verdict_of(need, usable_memory(card)), lacks(card, precision)});
  }
  std::ranges::stable_sort(all, {}, [](const CardVerdict& row) {
    return std::tuple(usable_memory(*row.card), row.card->bandwidth);
  });
  return all;
}

std::optional<std::uint64_t> fewest_gpus(const Model& model, const Workload& workload,
                                         Sharding with, Bytes room) {
  Workload divided = workload;
  divided.sharding = with;
  std::uint64_t most = 1024;
  // A head is not divided.
  if (with == Sharding::tensor_parallel && model.shape) most = std::min(most, model.shape->heads);
  for (std::uint64_t gpus = 2; gpus <= most; gpus *= 2) {
    divided.gpus = gpus;
    if (verdict_of(estimate(model, divided).total, room) == Verdict::fits) return gpus;
  }
  return std::nullopt;
}

}  // namespace berth
