#include "probe/nvml/samples.h"

#include <algorithm>

namespace berth::nvml {

namespace {

bool is_sound(const Sample& sample, unsigned value_type) {
  return sample.timestamp_us != 0 && value_type == value_is_unsigned;
}

}  // namespace

// The list may grow between asking for its length and reading it. A buffer too short would get the
// oldest ones: hence the slack, kept for the next look.
std::expected<std::vector<Sample>, Return> fetch_samples(DeviceAsker& asker, unsigned kind,
                                                         unsigned& capacity) {
  const auto& function = asker.api().nvmlDeviceGetSamples;
  constexpr unsigned slack = 16;
  constexpr unsigned most = 1 << 14;
  unsigned value_type = value_is_unsigned;
  std::vector<Sample> samples;
  for (int attempt = 0; attempt < 4; ++attempt) {
    if (capacity == 0) {
      unsigned count = 0;
      const Return code = asker.call_if_known(function, kind, kind, 0ULL, &value_type, &count,
                                              static_cast<Sample*>(nullptr));
      if (code != success && code != insufficient_size) return std::unexpected(code);
      capacity = std::min(count, most) + slack;
    }
    samples.resize(capacity);
    unsigned count = capacity;
    const Return code =
        asker.call_if_known(function, kind, kind, 0ULL, &value_type, &count, samples.data());
    if (code == success && count < capacity) {
      samples.resize(count);
      std::erase_if(samples, [&](const Sample& sample) { return !is_sound(sample, value_type); });
      std::stable_sort(samples.begin(), samples.end(), [](const Sample& a, const Sample& b) {
        return a.timestamp_us < b.timestamp_us;
      });
      return samples;
    }
    if (code != success && code != insufficient_size) return std::unexpected(code);
    capacity = 0;
  }
  return std::unexpected(insufficient_size);
}

}  // namespace berth::nvml
