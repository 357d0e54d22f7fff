#include "record/history/store.h"

#include <fcntl.h>
#include <fmt/chrono.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <ctime>
#include <filesystem>
#include <utility>

#include "base/lock.h"
#include "record/history/schema.h"
#include "record/history/stored.h"

namespace berth {

using history::Database;
using history::SampleRow;
using history::Span;
using history::Transaction;

namespace {

std::uint64_t size_of(const std::string& path) {
  struct stat about{};
  return ::stat(path.c_str(), &about) == 0 ? static_cast<std::uint64_t>(about.st_size) : 0;
}

/// Neither waiting nor another berth would cure it: the file is no use as it is.
bool is_beyond_use(const Error& error) {
  return error.code() == ErrorCode::invalid || error.code() == ErrorCode::no_permission;
}

}  // namespace

std::string history_path(const std::string& state_directory,
                         const std::optional<std::string>& simulated) {
  if (!simulated) return state_directory + "/history.sqlite";
  // A scenario may be named by its file.
  std::string name = simulated->substr(simulated->rfind('/') + 1);
  return state_directory + "/history-sim-" + name + ".sqlite";
}

namespace {

/// What a link stands for, there or not: somebody keeps his history on a larger disk.
std::string behind_links(std::string path) {
  constexpr int most = 8;
  for (int i = 0; i < most; ++i) {
    std::error_code none;
    const auto target = std::filesystem::read_symlink(path, none);
    if (none) return path;
    path = (std::filesystem::path(path).parent_path() / target).string();
  }
  return path;
}

}  // namespace

Result<HistoryStore> HistoryStore::open(const std::string& link, const HistoryOptions& options,
                                        Clock& clock) {
  const std::string path = behind_links(link);
  const std::string directory = path.substr(0, std::max<std::size_t>(path.rfind('/'), 1));
  if (path.find('/') != std::string::npos) {
    auto made = make_directories(directory, 0700);
    if (!made) return std::unexpected(std::move(made).error().because("keeping the history"));
  }
  auto lock = open_fd(path + ".lock", O_RDWR | O_CREAT | O_NOFOLLOW, 0600);
  if (!lock) return std::unexpected(std::move(lock).error().because("keeping the history"));
  const auto taken = take_ofd_lock(lock->get());
  if (!taken && taken.error().code() == ErrorCode::busy) {
    return fail(ErrorCode::busy,
                "another process already writes the history {}: one berth serve per file. Stop "
                "that one, or set XDG_STATE_HOME to keep another",
                path);
  }
  if (!taken) return std::unexpected(taken.error());
  HistoryStore store(path, options, clock, *std::move(lock));
  store.options_.at_most = std::max(options.at_most, HistoryOptions::least_disk);
  auto attached = store.attach_or_set_aside();
  if (!attached) return std::unexpected(std::move(attached).error());
  store.keep_one_aside();
  return store;
}

HistoryStore::~HistoryStore() {
  if (database_) static_cast<void>(flush());
}

Result<void> HistoryStore::attach() {
  auto done = open_file();
  // Half open is no use: the next sample tries again.
  if (!done) database_.reset();
  return done;
}

Result<void> HistoryStore::open_file() {
  auto database = Database::open(path_, Database::Access::write);
  if (!database) return std::unexpected(std::move(database).error());
  database_ = std::make_unique<Database>(*std::move(database));
  auto prepared = history::prepare_for_writing(*database_);
  if (!prepared) return prepared;
  const auto kind =
      database_->each("SELECT value FROM meta WHERE key='simulated'", {},
                      [&](const history::ResultRow& row) { simulated_ = row.text(0); });
  if (!kind) return kind;
  auto registry = history::Registry::load(*database_);
  if (!registry) return std::unexpected(std::move(registry).error());
  registry_ = *std::move(registry);
  auto loaded = load_tail();
  if (!loaded) return loaded;
  loaded = load_spans();
  if (!loaded) return loaded;
  return make_room();
}

Result<void> HistoryStore::attach_or_set_aside() {
  auto attached = attach();
  if (attached || !is_beyond_use(attached.error())) return attached;
  auto aside = set_aside(attached.error());
  if (!aside) return aside;
  return attach();
}

Result<void> HistoryStore::load_tail() {
  const auto read = database_->each(
      "SELECT id, data FROM tail ORDER BY id", {}, [&](const history::ResultRow& row) {
        auto samples = history::decode_samples(row.blob(1));
        if (!samples) return;  // the seconds of one batch
        for (const SampleRow& sample : *samples) {
          if (chunk_.ends_before(sample.at_ms)) {
            ended_.push_back({std::exchange(chunk_, {}), next_tail_id_ - 1});
          }
          chunk_.add(sample);
        }
        next_tail_id_ = row.integer(0) + 1;
      });
  return read;
}

Result<void> HistoryStore::load_spans() {
  const auto last = history::last_sample_ms(*database_);
  if (!last) return std::unexpected(last.error());
  if (!*last) return {};
  auto spans = history::spans_between(*database_, INT64_MAX, INT64_MAX);
  if (!spans) return std::unexpected(std::move(spans).error());
  spans_ = history::SpanTracker(*spans, **last);
  return {};
}

Result<void> HistoryStore::set_aside(const Error& because) {
  database_.reset();
  const std::string aside = name_set_aside(path_, clock_->wall_now());
  if (::rename(path_.c_str(), aside.c_str()) != 0) {
    return std::unexpected(system_error(errno, "set aside the unusable history {}", path_));
  }
  for (const char* beside : {"-wal", "-shm"}) {
    ::rename((path_ + beside).c_str(), (aside + beside).c_str());
  }
  notes_.push_back(fmt::format("{}; it was set aside as {}, and a new history begins",
                               because.message(), aside));
  keep_one_aside();
  for (const EndedChunk& ended : ended_) lost_samples_ += ended.chunk.times().size();
  lost_samples_ += chunk_.times().size();
  registry_ = {};
  spans_ = {};
  chunk_ = {};
  ended_.clear();
  pending_ = {};
  next_tail_id_ = 1;
  simulated_.reset();
  return {};
}

/// A disk that damages one file after the other must not be filled with them.
void HistoryStore::keep_one_aside() {
  aside_ = set_aside_of(path_);
  while (aside_.size() > 1) {
    for (const char* part : {"", "-wal", "-shm"}) ::unlink((aside_.front() + part).c_str());
    aside_.erase(aside_.begin());
  }
}

Result<void> HistoryStore::recovered(Result<void> done) {
  if (done) {
    last_trouble_.clear();
    return done;
  }
  if (is_beyond_use(done.error())) {
    auto aside = set_aside(done.error());
    if (!aside) return aside;
    return attach();
  }
  if (done.error().message() != last_trouble_) {
    last_trouble_ = done.error().message();
    notes_.push_back(last_trouble_ + "; samples wait in memory and are lost after half an hour");
  }
  return done;
}

Result<void> HistoryStore::check_kind(const Snapshot& snapshot) {
  const std::string kind = snapshot.simulated.value_or("");
  if (!simulated_) {
    auto said = database_->run("INSERT OR REPLACE INTO meta VALUES('simulated',?)",
                               {std::string_view(kind)});
    if (!said) return said;
    simulated_ = kind;
  }
  if (*simulated_ == kind) return {};
  const auto name = [](const std::string& one) {
    return one.empty() ? std::string("a real machine") : "the simulated server " + one;
  };
  return fail(ErrorCode::invalid,
              "the history {} is of {}, this look of {}: set XDG_STATE_HOME to keep another", path_,
              name(*simulated_), name(kind));
}

Result<SampleRow> HistoryStore::row_of(const SnapshotIndex& index) {
  const Snapshot& snapshot = index.snapshot();
  const std::int64_t at_ms = snapshot.taken.unix_ms;
  SampleRow row{.at_ms = at_ms};
  std::map<DeviceId, std::int64_t> numbers;
  for (const Device& device : snapshot.devices) {
    const auto number = registry_.device(*database_, device, at_ms);
    if (!number) return std::unexpected(number.error());
    numbers.emplace(device.id, *number);
    for (const history::MetricFacts& facts : history::metrics()) {
      if (facts.read == nullptr) continue;
      const history::Entry entry = history::entry_of(facts.read(device));
      // What such a device never has costs nothing.
      if (entry == history::Entry(Absent::unsupported)) continue;
      const auto series = registry_.series(*database_, *number, 0, facts.number);
      if (!series) return std::unexpected(series.error());
      row.readings.emplace_back(*series, entry);
    }
  }
  for (const GpuProcess& use : snapshot.gpu_processes) {
    const auto device = numbers.find(use.device);
    if (device == numbers.end()) continue;
    const auto process =
        registry_.process(*database_, device->second, use, index.process(use.pid), at_ms);
    if (!process) return std::unexpected(process.error());
    for (const history::MetricFacts& facts : history::metrics()) {
      if (facts.read_process == nullptr) continue;
      const history::Entry entry = history::entry_of(facts.read_process(use));
      if (entry == history::Entry(Absent::unsupported)) continue;
      const auto series = registry_.series(*database_, device->second, *process, facts.number);
      if (!series) return std::unexpected(series.error());
      row.readings.emplace_back(*series, entry);
    }
  }
  // The driver may list a process twice on one device: the first counts.
  const auto by_series = [](const auto& a, const auto& b) { return a.first < b.first; };
  std::stable_sort(row.readings.begin(), row.readings.end(), by_series);
  const auto same = [](const auto& a, const auto& b) { return a.first == b.first; };
  row.readings.erase(std::unique(row.readings.begin(), row.readings.end(), same),
                     row.readings.end());
  return row;
}

void HistoryStore::note_xids(const Snapshot& snapshot) {
  const auto& xids = snapshot.xids.get();
  if (!xids) return;
  std::uint64_t newest = newest_xid_;
  for (const XidEvent& xid : *xids) {
    if (xid.number <= newest_xid_) continue;
    newest = std::max(newest, xid.number);
    const Device* card = card_at(xid.pci_address, snapshot);
    pending_.events.push_back({.at = xid.at,
                               .kind = "xid",
                               .device = card != nullptr ? card->id : DeviceId(),
                               .code = std::to_string(xid.code),
                               .text = xid.text,
                               .uid = std::nullopt});
  }
  newest_xid_ = newest;
}

Result<void> HistoryStore::append(const Snapshot& snapshot) {
  if (!database_) {
    auto attached = recovered(attach_or_set_aside());
    if (!attached) return attached;
  }
  auto kind = check_kind(snapshot);
  if (!kind) return kind.error().code() == ErrorCode::invalid ? kind : recovered(kind);
  const SnapshotIndex index(snapshot);
  const std::int64_t at_ms = snapshot.taken.unix_ms;
  if (chunk_.ends_before(at_ms)) end_chunk();
  const auto row = row_of(index);
  if (!row) return recovered(std::unexpected(row.error()));
  chunk_.add(*row);
  pending_.samples.push_back(*row);
  usage_.add(index);
  note_xids(snapshot);
  for (Span& span : spans_.changes(index)) pending_.spans.push_back(std::move(span));
  const bool is_due = !flushed_ms_ || at_ms < *flushed_ms_ ||
                      at_ms - *flushed_ms_ >= options_.commit_every.count() || !ended_.empty();
  if (!is_due) return {};
  flushed_ms_ = at_ms;
  return recovered(write_pending());
}

Result<void> HistoryStore::add(const HistoryEvent& event) {
  pending_.events.push_back(event);
  return {};
}

Result<void> HistoryStore::flush() {
  if (!database_) return fail(ErrorCode::io, "the history {} is not open", path_);
  return recovered(write_pending());
}

Result<void> HistoryStore::verify() {
  if (!database_) return {};
  // As it is on the disk: what is overwritten there this connection may still have in its cache.
  auto reading = Database::open(path_, Database::Access::read);
  if (!reading) return std::unexpected(std::move(reading).error());
  std::string said;
  const auto checked = reading->each("PRAGMA quick_check(1)", {},
                                     [&](const history::ResultRow& row) { said = row.text(0); });
  if (!checked) return checked.error().code() == ErrorCode::invalid ? recovered(checked) : checked;
  if (said == "ok") return {};
  return recovered(fail(ErrorCode::invalid, "the history {} is damaged: {}", path_, said));
}

Bytes HistoryStore::disk_used() const {
  std::uint64_t size = 0;
  for (const char* part : {"", "-wal", "-shm"}) {
    size += size_of(path_ + part);
    for (const std::string& aside : aside_) size += size_of(aside + part);
  }
  return Bytes(size);
}

Reading<Bytes> HistoryStore::disk_free() const {
  struct statvfs about{};
  if (::statvfs(path_.c_str(), &about) != 0) return Absent::failed;
  return Bytes(std::uint64_t{about.f_bavail} * about.f_frsize);
}

}  // namespace berth
