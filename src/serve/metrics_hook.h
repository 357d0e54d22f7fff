#pragma once
// GET /metrics as the API sees it: whoever keeps what a page needs beyond the snapshot (app/) gives
// this.

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "snapshot/snapshot.h"

namespace berth::serve {

struct MetricsQuestion {
  std::string_view profiles;  // "berth,dcgm"; empty: the default
  std::string_view accept;    // the header, for choosing between text and OpenMetrics
  WallTime now;
};

struct MetricsText {
  std::string type;  // with its version: "text/plain; version=0.0.4; charset=utf-8"
  std::shared_ptr<const std::string> body;
};

class MetricsSource {
 public:
  virtual ~MetricsSource() = default;
  /// Nothing: there is no such profile.
  [[nodiscard]] virtual std::optional<MetricsText> page(const std::shared_ptr<const Snapshot>& seen,
                                                        const MetricsQuestion& question) = 0;
};

}  // namespace berth::serve
