#pragma once
// Request: what somebody wants of the machine. Flags, JSON, files and a ticket in the queue all
// become this one value. job_keys() (place/job_spec.h) says how its members are written.

#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/result.h"
#include "base/units.h"
#include "snapshot/device.h"

namespace berth {

/// "0", "GPU-1a2b" (a prefix), "MIG-…", "00000000:3b:00.0" or "3b:00.0", or a name glob such as
/// "*H100*" (case ignored).
struct DevicePattern {
  std::string text;
  friend bool operator==(const DevicePattern&, const DevicePattern&) = default;
};

/// Does the pattern name this device? An all-digits pattern is an index and nothing else.
[[nodiscard]] bool matches(const DevicePattern& pattern, const Device& device);

/// "0,2,GPU-1a2b,*4090*". invalid: empty entries; full-width commas and quotes are named.
[[nodiscard]] Result<std::vector<DevicePattern>> parse_patterns(std::string_view text);

/// A share of each device: so many bytes, or a percentage of its memory.
using MemoryShare = std::variant<Bytes, Percent>;
/// "10G" or "50%". invalid: 0, more than 100 %, not a size.
[[nodiscard]] Result<MemoryShare> parse_share(std::string_view text);

enum class Preference { best_fit, most_free, spread, listed };

/// A feature of the chip that a job cannot do without.
enum class Need { bf16, fp8 };

/// How close several devices have to be to each other (place/topology.h); `any`: as close as the
/// free ones are.
enum class Together { any, pcie, nvlink };

struct Request {
  int devices = 1;
  /// Nothing: each device whole, nobody else on it.
  std::optional<MemoryShare> memory;
  std::vector<DevicePattern> only;
  std::vector<DevicePattern> except;
  /// A word of kind_words(); empty: the one kind that is there.
  std::string kind;
  Preference prefer = Preference::best_fit;
  std::vector<DevicePattern> preferred;  // with Preference::listed, best first
  std::optional<ComputeCapability> min_compute;
  std::vector<Need> needs;
  /// Nothing: place()'s default for the kind of request.
  std::optional<Percent> max_utilization;
  /// The device must have been idle for this long by the strongest evidence it has.
  std::optional<Milliseconds> idle_for;
  /// Devices judged failed will do, too.
  bool allow_failed = false;
  Together together = Together::any;
  friend bool operator==(const Request&, const Request&) = default;
};

/// One line of JSON for a ticket, and back. invalid: not ours, or newer than this program knows.
[[nodiscard]] std::string to_json(const Request& request);
[[nodiscard]] Result<Request> request_from_json(std::string_view text);

/// As one would type it: "-n 2 --memory 10G --only 0,1". JobSpec has the rest of a job.
[[nodiscard]] std::string as_typed(const Request& request);

}  // namespace berth
