#include "record/history/registry.h"

#include "base/clock.h"
#include "record/history/schema.h"
#include "snapshot/device_kind.h"

namespace berth::history {

namespace {
Result<std::int64_t> next_id(Database& database, std::string_view sql) {
  const auto most = database.number(sql);
  if (!most) return std::unexpected(most.error());
  return most->value_or(0) + 1;
}
}  // namespace

Result<Registry> Registry::load(Database& database) {
  Registry registry;
  const auto device = next_id(database, "SELECT max(id) FROM device");
  if (!device) return std::unexpected(device.error());
  const auto process = next_id(database, "SELECT max(id) FROM process");
  if (!process) return std::unexpected(process.error());
  const auto series = next_id(database, "SELECT max(id) FROM series");
  if (!series) return std::unexpected(series.error());
  registry.next_device_ = *device;
  registry.next_process_ = *process;
  registry.next_series_ = *series;
  return registry;
}

Result<std::int64_t> Registry::known_device(Database& database, const std::string& uuid,
                                            std::int64_t at_ms) {
  const auto found = devices_.find(uuid);
  if (found != devices_.end()) {
    found->second.last_ms = at_ms;
    return found->second.id;
  }
  KnownDevice known{.id = 0, .row = {.uuid = uuid}, .first_ms = at_ms, .last_ms = at_ms};
  const auto read = database.each(
      "SELECT id, number, name, parent, memory_total, first_ms FROM device WHERE uuid=?",
      {std::string_view(uuid)}, [&](const ResultRow& row) {
        known.id = row.integer(0);
        known.row.number = row.maybe(1);
        known.row.name = row.text(2);
        known.row.parent = row.text(3);
        known.row.memory_total = row.maybe(4);
        known.first_ms = row.integer(5);
      });
  if (!read) return std::unexpected(read.error());
  if (known.id == 0) {
    known.id = next_device_++;
    changed_devices_.insert(uuid);
  }
  return devices_.emplace(uuid, std::move(known)).first->second.id;
}

Result<std::int64_t> Registry::device(Database& database, const DeviceId& id, std::int64_t at_ms) {
  return known_device(database, id.text(), at_ms);
}

Result<std::int64_t> Registry::device(Database& database, const Device& device,
                                      std::int64_t at_ms) {
  const auto id = known_device(database, device.id.text(), at_ms);
  if (!id) return id;
  KnownDevice& known = devices_.at(device.id.text());
  DeviceRow row = known.row;
  if (device.index) row.number = *device.index;
  if (device.name.get()) row.name = *device.name.get();
  if (device.parent) row.parent = device.parent->text();
  if (device.memory_total.get()) {
    row.memory_total = static_cast<std::int64_t>(device.memory_total.get()->count());
  }
  row.used_is_bound = row.used_is_bound || is_used_a_bound(device);
  if (row != known.row) {
    known.row = std::move(row);
    changed_devices_.insert(known.row.uuid);
  }
  return known.id;
}

Result<std::int64_t> Registry::process(Database& database, std::int64_t device,
                                       const GpuProcess& use, const HostProcess* host,
                                       std::int64_t at_ms) {
  const ProcessKey key{device, use.pid, host == nullptr ? 0 : host->id.start_ticks};
  const auto found = processes_.find(key);
  if (found != processes_.end()) {
    found->second.last_ms = at_ms;
    return found->second.id;
  }
  KnownProcess known{.id = 0, .first_ms = at_ms, .last_ms = at_ms};
  if (host != nullptr) {
    known.user = host->user.get().value_or("");
    known.name = host->executable_name.get().value_or("");
  }
  const auto id =
      database.number("SELECT id FROM process WHERE device=? AND pid=? AND start_ticks=?",
                      {device, std::int64_t{use.pid}, static_cast<std::int64_t>(std::get<2>(key))});
  if (!id) return std::unexpected(id.error());
  if (*id) {
    known.id = **id;
  } else {
    known.id = next_process_++;
    new_processes_.insert(key);
  }
  return processes_.emplace(key, std::move(known)).first->second.id;
}

Result<std::int64_t> Registry::series(Database& database, std::int64_t device, std::int64_t process,
                                      std::int64_t metric) {
  const SeriesKey key{process, device, metric};
  const auto found = series_.find(key);
  if (found != series_.end()) return found->second;
  const auto id = database.number("SELECT id FROM series WHERE process=? AND device=? AND metric=?",
                                  {process, device, std::get<2>(key)});
  if (!id) return std::unexpected(id.error());
  std::int64_t number = id->value_or(0);
  if (!*id) {
    number = next_series_++;
    new_series_.insert(key);
  }
  series_.emplace(key, number);
  return number;
}

Result<void> Registry::write(Database& database) {
  for (const std::string& uuid : changed_devices_) {
    const KnownDevice& known = devices_.at(uuid);
    auto done = database.run(
        "INSERT INTO device VALUES(?,?,?,?,?,?,?,?) ON CONFLICT(id) DO UPDATE SET "
        "number=excluded.number, name=excluded.name, parent=excluded.parent, "
        "memory_total=excluded.memory_total, last_ms=excluded.last_ms",
        {known.id, std::string_view(known.row.uuid), value_of(known.row.number),
         std::string_view(known.row.name), std::string_view(known.row.parent),
         value_of(known.row.memory_total), known.first_ms, known.last_ms});
    if (done && known.row.used_is_bound) {
      done = database.run("INSERT OR REPLACE INTO meta VALUES(?,'1')",
                          {std::string_view(used_is_bound_key + uuid)});
    }
    if (!done) return done;
  }
  for (const ProcessKey& key : new_processes_) {
    const KnownProcess& known = processes_.at(key);
    auto done =
        database.run("INSERT INTO process VALUES(?,?,?,?,?,?,?,?)",
                     {known.id, std::get<0>(key), std::int64_t{std::get<1>(key)},
                      static_cast<std::int64_t>(std::get<2>(key)), std::string_view(known.user),
                      std::string_view(known.name), known.first_ms, known.last_ms});
    if (!done) return done;
  }
  for (const SeriesKey& key : new_series_) {
    auto done =
        database.run("INSERT INTO series(id, device, process, metric) VALUES(?,?,?,?)",
                     {series_.at(key), std::get<1>(key), std::get<0>(key), std::get<2>(key)});
    if (!done) return done;
  }
  return {};
}

void Registry::written() {
  changed_devices_.clear();
  new_processes_.clear();
  new_series_.clear();
}

Result<void> Registry::write_last_seen(Database& database) {
  for (const auto& [uuid, known] : devices_) {
    auto done = database.run("UPDATE device SET last_ms=max(last_ms,?) WHERE id=?",
                             {known.last_ms, known.id});
    if (!done) return done;
  }
  for (const auto& [key, known] : processes_) {
    auto done = database.run("UPDATE process SET last_ms=max(last_ms,?) WHERE id=?",
                             {known.last_ms, known.id});
    if (!done) return done;
  }
  return {};
}

void Registry::forget_old(std::int64_t at_ms) {
  for (auto at = processes_.begin(); at != processes_.end();) {
    if (at->second.last_ms >= at_ms - day_ms) {
      ++at;
      continue;
    }
    const std::int64_t process = at->second.id;
    series_.erase(series_.lower_bound({process, INT64_MIN, INT64_MIN}),
                  series_.upper_bound({process, INT64_MAX, INT64_MAX}));
    at = processes_.erase(at);
  }
}

}  // namespace berth::history
