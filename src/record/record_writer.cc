#include "record/record_writer.h"

#include <fcntl.h>
#include <fmt/format.h>

#include <filesystem>
#include <system_error>

#include "base/lock.h"

namespace berth {

Result<RecordWriter> RecordWriter::create(const std::string& state_directory,
                                          const Manifest& manifest) {
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
  std::error_code wrong;
  std::filesystem::rename(temporary, final_path, wrong);
  if (wrong) return fail_system("put the record in place as " + final_path, wrong.value());
  return RecordWriter(final_path, std::move(*lock));
}

std::string RecordWriter::path_of(std::string_view file) const {
  return directory_ + "/" + std::string(file);
}

Result<void> RecordWriter::write_manifest(const Manifest& manifest) const {
  return write_file_atomically(path_of(record_file::manifest), manifest_to_json(manifest), 0600);
}

Result<void> RecordWriter::write_end(const RunEnd& end) const {
  return write_file_atomically(path_of(record_file::end), end_to_json(end), 0600);
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
