#pragma once
// Registry: which number a device, a process and a series have in the store. Numbers are given at
// once and written with the next batch. A number that is not in memory is looked up in the file.

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>

#include "base/result.h"
#include "record/history/database.h"
#include "record/history/metric.h"

namespace berth::history {

class Registry {
 public:
  [[nodiscard]] static Result<Registry> load(Database& database);

  [[nodiscard]] Result<std::int64_t> device(Database& database, const Device& device,
                                            std::int64_t at_ms);
  /// The number of a device that only a lease names.
  [[nodiscard]] Result<std::int64_t> device(Database& database, const DeviceId& id,
                                            std::int64_t at_ms);
  /// `host`: may be null.
  [[nodiscard]] Result<std::int64_t> process(Database& database, std::int64_t device,
                                             const GpuProcess& use, const HostProcess* host,
                                             std::int64_t at_ms);
  /// `process` 0: of the device itself.
  [[nodiscard]] Result<std::int64_t> series(Database& database, std::int64_t device,
                                            std::int64_t process, std::int64_t metric);

  /// Writes what is new; within the caller's transaction. written() once that has succeeded.
  [[nodiscard]] Result<void> write(Database& database);
  void written();
  /// When each was seen last; within a transaction, ten minutes apart.
  [[nodiscard]] Result<void> write_last_seen(Database& database);
  /// Processes that have not been seen for a day need no memory. After written().
  void forget_old(std::int64_t at_ms);

  struct DeviceRow {
    std::string uuid;
    std::optional<std::int64_t> number;
    std::string name;
    std::string parent;
    std::optional<std::int64_t> memory_total;
    bool used_is_bound = false;  // of this run of the program: the file keeps it
    friend bool operator==(const DeviceRow&, const DeviceRow&) = default;
  };

 private:
  struct KnownDevice {
    std::int64_t id = 0;
    DeviceRow row;
    std::int64_t first_ms = 0;
    std::int64_t last_ms = 0;
  };
  struct KnownProcess {
    std::int64_t id = 0;
    std::string user;
    std::string name;
    std::int64_t first_ms = 0;
    std::int64_t last_ms = 0;
  };
  using ProcessKey = std::tuple<std::int64_t, pid_t, std::uint64_t>;  // device, pid, start
  using SeriesKey =
      std::tuple<std::int64_t, std::int64_t, std::int64_t>;  // process, device, metric

  Result<std::int64_t> known_device(Database& database, const std::string& uuid,
                                    std::int64_t at_ms);

  std::map<std::string, KnownDevice> devices_;
  std::map<ProcessKey, KnownProcess> processes_;
  std::map<SeriesKey, std::int64_t> series_;
  std::set<std::string> changed_devices_;
  std::set<ProcessKey> new_processes_;
  std::set<SeriesKey> new_series_;
  std::int64_t next_device_ = 1;
  std::int64_t next_process_ = 1;
  std::int64_t next_series_ = 1;
};

}  // namespace berth::history
