#pragma once
// The server's history: what the store remembers, as the API asks for it.

#include <optional>
#include <string>

#include "serve/history_source.h"

namespace berth {

/// What energy costs where the server stands.
struct EnergyPrice {
  std::optional<double> per_kwh;
  std::string currency;
};

/// Reads the store anew for each question: any number at a time, while one writes.
class StoredHistory final : public serve::History {
 public:
  explicit StoredHistory(std::string path, EnergyPrice price)
      : path_(std::move(path)), price_(std::move(price)) {}

  [[nodiscard]] Result<serve::Series> series(const serve::SeriesQuery& query) const override;
  [[nodiscard]] Result<serve::Usage> usage(serve::UsageBy by, serve::TimeSpan span) const override;
  [[nodiscard]] Result<serve::Timeline> timeline(serve::TimeSpan span) const override;
  [[nodiscard]] Result<std::vector<serve::LoggedEvent>> events(serve::TimeSpan span) const override;

 private:
  std::string path_;
  EnergyPrice price_;
};

}  // namespace berth
