#pragma once
// ContextSizes: what one CUDA context takes of a card, as this user's runs have measured it. The
// driver takes it when the context is made, and tells it to nobody before. What earlier runs saw on
// the same card and driver holds a share from the start on.

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/units.h"
#include "snapshot/device.h"

namespace berth {

struct ContextSize {
  std::string device;  // its name: "NVIDIA H200"
  std::string driver_version;
  Bytes size;
  friend bool operator==(const ContextSize&, const ContextSize&) = default;
};

class ContextSizes {
 public:
  /// STATE/contexts.json. A file that is absent, or is none of ours, is one without sizes.
  [[nodiscard]] static ContextSizes load(const std::string& state_directory);

  /// Nothing: none was measured, or it is not known what the card or the driver is.
  [[nodiscard]] std::optional<Bytes> of(const Device& device,
                                        const Reading<std::string>& driver_version) const;
  /// The least of several sizes is a context's own: modules come on top. False: nothing new.
  bool note(const Device& device, const Reading<std::string>& driver_version, Bytes size);
  [[nodiscard]] Result<void> save(const std::string& state_directory) const;

 private:
  std::vector<ContextSize> sizes_;  // the newest last
};

}  // namespace berth
