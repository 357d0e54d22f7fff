#include "serve/alert_store.h"

#include <fcntl.h>
#include <sys/statvfs.h>

#include <cerrno>
#include <cstdio>
#include <utility>

#include "base/lock.h"

namespace berth::serve {

namespace {

std::string state_path(const std::string& directory, const std::optional<std::string>& simulated) {
  if (!simulated) return directory + "/alerts.json";
  // A scenario may be named by its file.
  return directory + "/alerts-sim-" + simulated->substr(simulated->rfind('/') + 1) + ".json";
}

DiskUse disk_of(const std::string& directory) {
  struct statvfs facts{};
  if (::statvfs(directory.c_str(), &facts) != 0 || facts.f_blocks == 0) {
    return disk_of_state(Absent::failed, Absent::failed);
  }
  // The space available to ordinary users: what root alone may take helps nobody else.
  return disk_of_state(Bytes(std::uint64_t{facts.f_blocks} * facts.f_frsize),
                       Bytes(std::uint64_t{facts.f_bavail} * facts.f_frsize));
}

/// Empty: none is installed. Nothing: it cannot be told.
std::optional<std::string> installed_toolkit() {
  const auto text = read_file("/usr/local/cuda/version.json");
  if (text) return toolkit_version(*text);
  return text.error().code() == ErrorCode::not_found ? std::optional(std::string()) : std::nullopt;
}

}  // namespace

AlertStore::AlertStore(std::string state_directory, const std::optional<std::string>& simulated)
    : directory_(std::move(state_directory)),
      path_(state_path(directory_, simulated)),
      is_simulated_(simulated.has_value()) {}

AlertStore::Opened AlertStore::open(Clock& clock) {
  const auto without = [](Error error) {
    return Opened{.not_kept = std::move(error), .set_aside = std::nullopt};
  };
  if (auto made = make_directories(directory_, 0700); !made) return without(made.error());
  auto lock = open_fd(path_ + ".lock", O_RDWR | O_CREAT | O_NOFOLLOW, 0600);
  if (!lock) return without(lock.error());
  if (const auto taken = take_flock(lock->get(), clock, clock.now()); !taken) {
    return without(Error(ErrorCode::busy, "another berth serve keeps its own in {}", path_));
  }
  lock_ = std::move(*lock);
  const auto text = read_file(path_, longest_alert_state);
  keeps_ = text || text.error().code() == ErrorCode::not_found;
  // A file that cannot be read now (no descriptor is left, the disk fails) may be sound: it stays.
  if (!keeps_) return without(text.error());
  if (!text) return {};
  auto state = alert_state_from_json(*text);
  if (state) return {.state = std::move(*state)};
  if (state.error().code() == ErrorCode::unsupported) {
    keeps_ = false;
    return without(std::move(state).error().at(path_));
  }
  const std::string aside = name_set_aside(path_, clock.wall_now());
  if (std::rename(path_.c_str(), aside.c_str()) != 0) {
    keeps_ = false;
    return without(system_error(errno, "set aside the unusable {}", path_));
  }
  for (const std::string& one : set_aside_of(path_)) {
    if (one != aside) ::unlink(one.c_str());
  }
  return {.set_aside = Opened::SetAside{state.error(), aside}};
}

bool AlertStore::save(const std::string& text) {
  if (!keeps_) return true;
  {
    const std::lock_guard guard(shared_->mutex);
    if (std::exchange(shared_->is_saving, true)) return false;
  }
  const bool given = saver_.give([shared = shared_, path = path_, text] {
    const auto written = write_file_atomically(path, text, 0600);
    const std::lock_guard guard(shared->mutex);
    shared->is_saving = false;
    // Once per failure, not once a second.
    if (!written && !shared->had_trouble) shared->trouble = written.error().message();
    shared->had_trouble = !written.has_value();
  });
  if (given) return true;
  const std::lock_guard guard(shared_->mutex);
  shared_->is_saving = false;
  return false;
}

void AlertStore::look_around() {
  {
    const std::lock_guard guard(shared_->mutex);
    if (std::exchange(shared_->is_looking, true)) return;
  }
  static_cast<void>(looker_.give([shared = shared_, directory = directory_, sim = is_simulated_] {
    Around around{.disks = {disk_of(directory)},
                  .toolkit = sim ? std::nullopt : installed_toolkit()};
    const std::lock_guard guard(shared->mutex);
    shared->around = std::move(around);
    shared->is_looking = false;
  }));
}

AlertStore::Around AlertStore::around() const {
  const std::lock_guard guard(shared_->mutex);
  return shared_->around;
}

std::optional<std::string> AlertStore::take_trouble() {
  const std::lock_guard guard(shared_->mutex);
  return std::exchange(shared_->trouble, std::nullopt);
}

}  // namespace berth::serve
