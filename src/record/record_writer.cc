#include "record/record_writer.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "base/lock.h"
#include "base/owned_file.h"
#include "base/text.h"
#include "base/user_name.h"

namespace berth {

namespace {
/// Where it cannot be said which run is the last, nothing is to say that it is another.
bool name_last_run(const std::string& state_directory, const std::string& target) {
  const std::string link = state_directory + "/" + std::string(last_run_link);
  const std::string temporary = link + ".new." + std::to_string(::getpid());
  std::error_code wrong;
  std::filesystem::create_symlink(target, temporary, wrong);
  if (!wrong) std::filesystem::rename(temporary, link, wrong);
  if (!wrong) return true;
  ::unlink(temporary.c_str());
  ::unlink(link.c_str());
  return false;
}

/// Unchanged for so long that no launcher still writes it. A stopped launcher might, but would hold
/// its lock: nobody does.
bool is_left_behind(const std::string& directory, const struct stat& newest) {
  constexpr time_t longest_made = 600;
  struct stat facts{};
  if (::lstat(directory.c_str(), &facts) != 0 || !S_ISDIR(facts.st_mode)) return false;
  if (facts.st_uid != ::geteuid() || newest.st_mtime - facts.st_mtime < longest_made) return false;
  const std::string path = directory + "/" + std::string(record_file::keeper_lock);
  const auto lock = open_fd(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
  if (!lock) return lock.error().code() == ErrorCode::not_found;
  const auto locked = is_ofd_locked(lock->get());
  return locked && !*locked;
}

/// Removes what killed launchers have left in `folder` under names like that. `just_made` tells
/// what time it is by the file system's own clock.
void sweep(const std::string& folder, const struct stat& just_made,
           bool (*is_unfinished)(std::string_view name)) {
  const auto names = list_directory(folder);
  for (const std::string& name : names.value_or(std::vector<std::string>())) {
    const std::string directory = folder + "/" + name;
    std::error_code ignored;
    if (is_unfinished(name) && is_left_behind(directory, just_made)) {
      std::filesystem::remove_all(directory, ignored);
    }
  }
}

/// A place to make a record in. When it is whole it is moved out. Its maker sweeps it.
Result<std::string> make_unfinished(const std::string& runs, const std::string& id) {
  const std::string folder = runs + "/" + std::string(unfinished_directory);
  const bool is_first = make_directory(AT_FDCWD, folder, 0700);
  const std::string made = folder + "/" + id;
  if (auto there = make_directories(made, 0700); !there) return std::unexpected(there.error());
  struct stat facts{};
  if (::lstat(made.c_str(), &facts) != 0) return fail_system(errno, "examine {}", made);
  sweep(folder, facts, [](std::string_view) { return true; });
  // Older versions made them beside the records; these are many, so they are looked through once.
  if (is_first) {
    sweep(runs, facts, [](std::string_view name) {
      return name.starts_with('.') && name.ends_with(".new") && name != unfinished_directory;
    });
  }
  return made;
}
}  // namespace

Result<RecordWriter> RecordWriter::create(const std::string& state_directory,
                                          const Manifest& manifest, std::size_t devices) {
  if (state_directory.empty()) {
    return fail(ErrorCode::not_found, "neither XDG_STATE_HOME nor HOME is set to an absolute path");
  }
  const std::string runs = runs_directory(state_directory);
  const std::string final_path = runs + "/" + manifest.id;
  const auto made = make_unfinished(runs, manifest.id);
  if (!made) return std::unexpected(made.error());
  auto writer = fill(*made, manifest, devices);
  std::error_code wrong;
  if (writer) std::filesystem::rename(*made, final_path, wrong);
  if (!writer || wrong) {
    std::error_code ignored;
    std::filesystem::remove_all(*made, ignored);
    if (!writer) return writer;
    return fail_system(wrong.value(), "put the record in place as {}", final_path);
  }
  writer->directory_ = final_path;
  (void)name_last_run(state_directory, "runs/" + manifest.id);
  return writer;
}

Result<RecordWriter> RecordWriter::fill(const std::string& directory, const Manifest& manifest,
                                        std::size_t devices) {
  RecordWriter writer(directory, Fd());
  const auto make_lock = [&] {
    return open_fd(writer.path_of(record_file::keeper_lock), O_RDWR | O_CREAT | O_EXCL, 0600);
  };
  auto lock = make_lock();
  // Stopped for minutes before it was locked it was taken for one that is left behind.
  if (!lock && make_directories(directory, 0700)) lock = make_lock();
  if (!lock) return std::unexpected(std::move(lock).error());
  // Where locks do not work (some network file systems) the record is kept all the same. Readers
  // then go by the keeper's pid.
  (void)take_ofd_lock(lock->get());
  writer.lock_ = *std::move(lock);
  const auto marks = open_fd(writer.path_of(record_file::marks), O_WRONLY | O_CREAT | O_EXCL, 0600);
  if (!marks) return std::unexpected(marks.error());
  auto written = writer.write_manifest(manifest);
  if (!written) return std::unexpected(std::move(written).error());
  writer.reserve_room_for_end(std::max(devices, manifest.given.devices.size()));
  return writer;
}

Result<RecordWriter> RecordWriter::adopt(const std::string& directory) {
  RecordWriter writer(directory, Fd());
  auto lock = open_fd(writer.path_of(record_file::keeper_lock), O_RDWR | O_NOFOLLOW);
  if (!lock) return std::unexpected(std::move(lock).error());
  const auto held = is_ofd_locked(lock->get());
  if (held && *held) return fail(ErrorCode::busy, "somebody keeps the record {}", directory);
  (void)take_ofd_lock(lock->get());
  writer.lock_ = *std::move(lock);
  return writer;
}

bool note_unrecorded_run(const std::string& state_directory, const std::string& id) {
  if (state_directory.empty()) return true;  // nor is there an earlier one
  std::error_code unknown;
  if (!std::filesystem::is_directory(runs_directory(state_directory), unknown)) return true;
  return name_last_run(state_directory, std::string(unrecorded_run_prefix) + id);
}

std::string RecordWriter::path_of(std::string_view file) const {
  return directory_ + "/" + std::string(file);
}

Result<void> RecordWriter::write_manifest(const Manifest& manifest) const {
  return write_file_atomically(path_of(record_file::manifest), manifest_to_json(manifest), 0600);
}

/// Real bytes, not a hole: writing over them needs no room on most file systems. Where even this
/// cannot be written the end may still find room when it comes.
void RecordWriter::reserve_room_for_end(std::size_t devices) const {
  constexpr std::size_t for_the_run = 2048;
  constexpr std::size_t for_each_device = 1024;
  const auto fd = open_fd(path_of(record_file::end_room), O_WRONLY | O_CREAT | O_EXCL, 0600);
  if (fd) (void)write_all(fd->get(), std::string(for_the_run + devices * for_each_device, ' '));
}

Result<void> RecordWriter::write_end(const RunEnd& end) const {
  return write_end_into(directory_, end);
}

namespace {
constexpr std::string_view stopped_by = "stopped by ";
constexpr std::string_view grace_line = "grace_ms ";
constexpr std::string_view from_elsewhere = "from another machine";
}  // namespace

Result<void> note_stop_request(const std::string& directory, std::chrono::milliseconds grace,
                               StopFrom from) {
  std::string text = std::string(stopped_by) + local_user_name(::getuid()) + "\n" +
                     std::string(grace_line) + std::to_string(grace.count()) + "\n";
  if (from == StopFrom::another_machine) text += std::string(from_elsewhere) + "\n";
  return write_file_atomically(directory + "/" + std::string(record_file::stop_request), text,
                               0600);
}

std::optional<StopRequest> stop_request_in(const std::string& directory) {
  constexpr std::size_t longest = 256;
  constexpr std::uint64_t longest_grace = 86'400'000;
  const std::string file(record_file::stop_request);
  if (!is_there(directory + "/" + file)) return std::nullopt;
  StopRequest request;
  const auto text = read_file_of(FileOwner::ourselves(), directory, file, longest);
  for (const std::string_view line : split(text ? std::string_view(*text) : "", '\n')) {
    if (line.starts_with(stopped_by)) request.by = line.substr(stopped_by.size());
    if (line == from_elsewhere) request.from = StopFrom::another_machine;
    if (!line.starts_with(grace_line)) continue;
    if (const auto grace = parse_unsigned(line.substr(grace_line.size()))) {
      request.grace = std::chrono::milliseconds(std::min(*grace, longest_grace));
    }
  }
  return request;
}

namespace {
/// Over what is there, in one piece; the rest of it becomes blanks, which JSON allows.
bool write_over(const std::string& path, std::string text) {
  const auto fd = open_fd(path, O_WRONLY | O_NOFOLLOW | O_NONBLOCK);
  struct stat facts{};
  if (!fd || ::fstat(fd->get(), &facts) != 0 || !S_ISREG(facts.st_mode)) return false;
  const auto room = static_cast<std::size_t>(facts.st_size);
  if (room < text.size()) return false;
  text.resize(room, ' ');
  return write_all(fd->get(), text).has_value();
}
}  // namespace

Result<void> write_end_into(const std::string& directory, const RunEnd& end) {
  const std::string path = directory + "/" + std::string(record_file::end);
  const std::string room = directory + "/" + std::string(record_file::end_room);
  const std::string text = end_to_json(end);
  auto written = write_file_atomically(path, text, 0600);
  if (!written) {
    if (write_over(room, text) && ::rename(room.c_str(), path.c_str()) == 0) return {};
    // The room has become the end already; this is its second and last version.
    if (write_over(path, text)) return {};
    return written;
  }
  // The last word on the run: the room is needed no more.
  if (end.released || !end.known) ::unlink(room.c_str());
  return written;
}

Result<void> RecordWriter::append_event(const RunEvent& event) const {
  const auto fd = open_fd(path_of(record_file::events), O_WRONLY | O_CREAT | O_APPEND, 0600);
  if (!fd) return std::unexpected(fd.error());
  return write_all(fd->get(), fmt::format("{} {} {}\n", event.at.unix_ms, event.kind,
                                          printable(event.text.english())));
}

Result<Fd> RecordWriter::open_samples() const {
  auto fd = open_fd(path_of(record_file::samples), O_WRONLY | O_CREAT | O_APPEND, 0600);
  if (!fd) return fd;
  // A sampler that died half-way through a line leaves a torn one: the line break ends it.
  auto written = write_all(fd->get(), "\n" + samples_header());
  if (!written) return std::unexpected(std::move(written).error());
  return fd;
}

}  // namespace berth
