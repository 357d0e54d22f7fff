#pragma once
// What is kept of a device between looks.

#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "probe/nvml/device_asker.h"
#include "snapshot/device.h"

namespace berth::nvml {

/// Counters that rates are made of, and when the driver read them. Nothing: not read, or refused.
struct Counter {
  std::uint64_t bytes = 0;
  std::int64_t read_us = 0;
};
struct Counters {
  Reading<Counter> pcie_sent;
  Reading<Counter> pcie_received;
  Reading<Counter> nvlink_sent;
  Reading<Counter> nvlink_received;
};

/// For each kind of samples: how many there are at most, and the newest one seen.
struct SampleMemory {
  struct Kind {
    unsigned capacity = 0;
    std::uint64_t seen_us = 0;
  };
  std::map<unsigned, Kind> kinds;  // by nvmlSamplingType_t
};

/// The two buffers of GPM that the library allocated. Freed with the device's memory, while the
/// library is still open.
class ActivitySamples {
 public:
  ActivitySamples() = default;
  ActivitySamples(ActivitySamples&& other) noexcept { *this = std::move(other); }
  ActivitySamples& operator=(ActivitySamples&& other) noexcept {
    std::swap(api_, other.api_);
    std::swap(before_, other.before_);
    std::swap(now_, other.now_);
    std::swap(taken_, other.taken_);
    return *this;
  }
  ~ActivitySamples();

  /// False: the library gave no buffers.
  [[nodiscard]] bool allocate(const Api& api);
  /// The look before's sample. Null: there was none, or it failed.
  [[nodiscard]] GpmSample before() const { return taken_ ? before_ : nullptr; }
  /// To be filled by this look.
  [[nodiscard]] GpmSample now() const { return now_; }
  /// This look's sample is the next one's `before`.
  void keep() {
    std::swap(before_, now_);
    taken_ = true;
  }
  void forget() { taken_ = false; }

 private:
  const Api* api_ = nullptr;
  GpmSample before_ = nullptr;
  GpmSample now_ = nullptr;
  bool taken_ = false;
};

struct DeviceMemory {
  Handle handle = nullptr;
  /// Identity and facts, read once; `id` is empty until then.
  Device facts;
  /// Those that were wanted and answered, be it by "not supported".
  Wanted identity_known;
  Wanted facts_known;
  /// "Not supported" is asked again after this many looks. An administrator may switch on
  /// accounting or error correction while the driver stays loaded.
  static constexpr unsigned looks_between_refusals = 256;
  Refusals refusals;
  /// What its MIG instances refuse: they are alike, and their handles come and go.
  Refusals instance_refusals;
  unsigned looks = 0;
  /// As of the look before: a card that is divided or made whole supports other things.
  Reading<bool> mig_mode;
  void forget_refusals() { refusals = instance_refusals = {}; }
  unsigned samples_capacity = 0;
  std::uint64_t process_samples_seen_us = 0;
  Counters counters;
  /// What is counted since the driver loaded, as it stood at the look before.
  std::vector<Cell> counted_before;
  std::optional<WallTime> counted_at;
  SampleMemory samples;
  ActivitySamples activity;
};

}  // namespace berth::nvml
