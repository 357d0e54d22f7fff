#include <fmt/format.h>

#include <cstdint>

#include "base/text.h"
#include "diagnose/doctor/rules.h"

namespace berth::doctor {

namespace {

/// Every file opened costs a round trip to somewhere else.
bool is_slow_by_nature(std::string_view type) {
  return type == "fuse.sshfs" || type == "9p" || type == "drvfs" || type == "davfs" ||
         type == "fuse.s3fs" || type == "fuse.rclone" || type == "fuse.gcsfuse";
}

constexpr std::int64_t slow_open = 5'000;  // microseconds; a local disk takes some tens
constexpr double slow_reading = 20;        // MB/s; a hard disk reads 100 and more in one piece

/// Whether reading was slow: of too little, or of what was partly in memory, nothing is concluded.
bool reads_slowly(const Reading<ReadSpeed>& reading) {
  const auto& speed = reading.get();
  if (!speed || speed->bytes.count() < (std::uint64_t{4} << 20)) return false;
  const auto& cached = speed->cached.get();
  return cached && *cached < 0.25 && speed->megabytes_per_second() < slow_reading;
}

Finding told_of(const WorkingDirectory& here) {
  Finding finding{
      .rule = "slow_directory",
      .severity = Severity::hint,
      .title = sentence("the working directory is on a slow file system"),
      .evidence = {sentence("{} is on {}", here.path,
                            here.file_system.empty() ? "?" : here.file_system)},
      .meaning = sentence("A data set of many small files read from here starves the GPU."),
      .steps = {
          {sentence("copy the data to a local disk first, or pack it into few large files"), ""}}};
  const auto& micros = here.open_microseconds.get();
  if (micros) finding.evidence.push_back(sentence("opening a file takes {} microseconds", *micros));
  const bool reading = reads_slowly(here.read_speed);
  if (reading) {
    const ReadSpeed& speed = *here.read_speed.get();
    finding.meaning = sentence("Data read from here starves the GPU.");
    finding.evidence.push_back(sentence("{} of {} was read at {} MB/s", short_size(speed.bytes),
                                        speed.file,
                                        fmt::format("{:.1f}", speed.megabytes_per_second())));
    finding.doubt = sentence("others may have kept the disk busy just then");
  } else if (!micros || *micros <= slow_open) {
    finding.doubt = sentence("by its type; what was opened was quick, perhaps from memory");
  }
  return finding;
}

}  // namespace

Findings slow_directory(const Examined& host) {
  if (!host.world.directory) return {};
  const WorkingDirectory& here = *host.world.directory;
  const auto& micros = here.open_microseconds.get();
  const bool opens_slowly = micros && *micros > slow_open;
  if (!opens_slowly && !reads_slowly(here.read_speed) && !is_slow_by_nature(here.file_system)) {
    return {};
  }
  return {told_of(here)};
}

}  // namespace berth::doctor
