#include "record/record_writer.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <system_error>

#include "base/lock.h"
#include "base/tr.h"

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
}  // namespace

Result<RecordWriter> RecordWriter::create(const std::string& state_directory,
                                          const Manifest& manifest) {
  if (state_directory.empty()) {
    return fail(ErrorCode::not_found,
                std::string(tr("neither XDG_STATE_HOME nor HOME is set to an absolute path")));
  }
  const std::string runs = runs_directory(state_directory);
  const std::string final_path = runs + "/" + manifest.id;
  const std::string temporary = runs + "/." + manifest.id + ".new";
  auto made = make_directories(temporary, 0700);
  if (!made) return std::unexpected(std::move(made).error());
  RecordWriter writer(temporary, Fd());
  auto lock = open_fd(writer.path_of(record_file::keeper_lock), O_RDWR | O_CREAT | O_EXCL, 0600);
  if (!lock) return std::unexpected(std::move(lock).error());
  // Where locks do not work (some network file systems) the record is kept all the same; readers
  // then go by the keeper's pid.
  (void)take_ofd_lock(lock->get());
  const auto marks = open_fd(writer.path_of(record_file::marks), O_WRONLY | O_CREAT | O_EXCL, 0600);
  if (!marks) return std::unexpected(marks.error());
  auto written = writer.write_manifest(manifest);
  if (!written) return std::unexpected(std::move(written).error());
  writer.reserve_room_for_end(manifest.given.devices.size());
  std::error_code wrong;
  std::filesystem::rename(temporary, final_path, wrong);
  if (wrong) return fail_system("put the record in place as " + final_path, wrong.value());
  (void)name_last_run(state_directory, "runs/" + manifest.id);
  return RecordWriter(final_path, std::move(*lock));
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
  return write_all(fd->get(), fmt::format("{} {} {}\n", event.at.unix_ms, event.kind, event.text));
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
