#pragma once
// ParsedLook: a snapshot's JSON, which looks share. What berth_device has is read at once. That is
// less than a tenth of it. The processes, and the whole, are read on demand.

#include <array>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "base/json.h"

namespace berth::lib {

/// The readings that berth_device has, by their keys in doc/METRICS.md.
inline constexpr auto fields_of_device = std::to_array<std::string_view>(
    {"name", "pci_address", "state", "failed_because", "users", "memory_total_bytes",
     "memory_used_bytes", "memory_used_is_bound", "memory_free_bytes", "power_draw_milliwatts",
     "temperature_celsius", "utilization_gpu_percent", "compute_capability", "cuda_cores"});

class ParsedLook {
 public:
  /// What was just taken from somewhere. Null: it is no snapshot.
  [[nodiscard]] static std::shared_ptr<const ParsedLook> read(std::string text);

  /// As it came.
  [[nodiscard]] const std::string& text() const { return text_; }
  /// What berth_device has, and of which machine and when it is.
  [[nodiscard]] const Json& known() const { return known_; }
  /// What berth_process has: processes, with the words of each command joined, too
  /// ("joined_command"), and leases; any thread.
  [[nodiscard]] const Json& processes() const;
  /// All members of each device; any thread.
  [[nodiscard]] const Json& whole() const;

 private:
  ParsedLook(std::string text, Json known) : text_(std::move(text)), known_(std::move(known)) {}

  std::string text_;
  Json known_;
  mutable std::mutex mutex_;  // of those below
  mutable Json processes_;
  mutable Json whole_;
};

/// Whether a member of that name is in ParsedLook::known().
[[nodiscard]] bool is_known_member(std::string_view name);

}  // namespace berth::lib
