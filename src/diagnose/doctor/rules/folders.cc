// Folders that do not answer, and the working directory.

#include <fmt/format.h>

#include <cstdint>

#include "base/text.h"
#include "diagnose/doctor/doctor.h"

namespace berth::doctor {

namespace {

Findings folder_silent(const Examined& host) {
  Findings findings;
  for (const std::string& folder : host.facts.silent_folders) {
    findings.push_back(
        {.rule = "folder_silent",
         .severity = Severity::error,
         .title = sentence("{} does not answer", folder),
         .evidence = {sentence("a look into it had not come back after two seconds")},
         .meaning =
             sentence("Its server is gone or overloaded. Programs that touch it hang and cannot "
                      "be killed."),
         .steps = {{sentence("see what is mounted there, and tell the administrator"),
                    "grep -E 'nfs|cifs|fuse|lustre' /proc/mounts"}},
         .doubt = sentence("nothing in it was looked at")});
  }
  return findings;
}

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

Findings slow_directory(const Examined& host) {
  const WorkingDirectory& here = *host.facts.directory;
  const auto& micros = here.open_microseconds.get();
  const bool opens_slowly = micros && *micros > slow_open;
  if (!opens_slowly && !reads_slowly(here.read_speed) && !is_slow_by_nature(here.file_system)) {
    return {};
  }
  return {told_of(here)};
}

Findings disk_nearly_full(const Examined& host) {
  const WorkingDirectory& here = *host.facts.directory;
  const auto& total = here.total.get();
  const auto& free = here.free.get();
  const std::uint64_t gibibyte = std::uint64_t{1} << 30;
  if (!total || !free || total->count() == 0 || free->count() >= gibibyte ||
      free->count() * 50 >= total->count()) {
    return {};
  }
  return {{.rule = "disk_nearly_full",
           .severity = Severity::warning,
           .title = sentence("the disk of the working directory is nearly full"),
           .evidence = {sentence("{} of {} are free in {}", short_size(*free), short_size(*total),
                                 here.path)},
           .meaning = sentence("Checkpoints and logs end there."),
           .steps = {{sentence("see what takes the room"), "du -xsh * | sort -h | tail"}}}};
}

}  // namespace

std::span<const DoctorRule> folders_rules() {
  static constexpr DoctorRule rules[] = {
      {.find = folder_silent,
       .reports = {{"folder_silent", "error",
                    "a folder of PATH, LD_LIBRARY_PATH, home or the working directory did not "
                    "answer within 2 s (each by itself)",
                    "tell the administrator"}}},
      {.find = slow_directory,
       .needs = HostPart::directory,
       .reports =
           {{"slow_directory", "hint",
             "opening a file in the working directory takes more than 5 ms, or its file system is "
             "of a slow kind, or `--read-test` read 4 MiB or more of it at less than 20 MB/s and "
             "less than a quarter of that was in memory before (then with a doubt)",
             "a local disk"}}},
      {.find = disk_nearly_full,
       .needs = HostPart::directory,
       .reports = {{"disk_nearly_full", "warning", "less than 1 GiB and 2 % free",
                    "see what takes the room"}}},
  };
  return rules;
}

}  // namespace berth::doctor
