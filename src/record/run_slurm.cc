#include "record/run_slurm.h"

#include "base/archive.h"
#include "base/fd.h"
#include "base/json_archive.h"
#include "record/record_writer.h"
#include "snapshot/walk.h"

namespace berth {

namespace {
constexpr std::string_view slurm_format = "berth-run-slurm";
constexpr int slurm_version = 1;

void walk_slurm(Archive& archive, RunSlurm& slurm) {
  archive.member("job", slurm.job, Form::required);
  archive.member("cluster", slurm.cluster);
  archive.member("submitted_unix_ms", slurm.submitted);
  archive.member("array", slurm.array);
  archive.member("asked", slurm.asked);
}
}  // namespace

std::string run_slurm_to_json(const RunSlurm& slurm) {
  RunSlurm copy = slurm;
  return write_json(JsonLayout::narrow,
                    [&](Archive& archive) {
                      archive.derived("format", slurm_format);
                      archive.derived("version", slurm_version);
                      walk_slurm(archive, copy);
                    }) +
         "\n";
}

Result<RunSlurm> run_slurm_from_json(std::string_view text) {
  RunSlurm slurm;
  const auto read = read_json(text, [&](Archive& archive) {
    std::string format;
    int version = 0;
    archive.member("format", format, Form::required);
    archive.member("version", version, Form::required);
    if (format != slurm_format) archive.mistake(sentence("not a Slurm job's"));
    if (archive.is_good() && version <= slurm_version) walk_slurm(archive, slurm);
    // It becomes a word of a command line.
    const bool is_number = slurm.job.find_first_not_of("0123456789_") == std::string::npos;
    if (slurm.job.empty() || !is_number) archive.mistake(sentence("not the number of a job"));
  });
  if (!read) return std::unexpected(read.error());
  return slurm;
}

std::optional<RunSlurm> run_slurm_in(const std::string& directory) {
  if (directory.empty()) return std::nullopt;
  const auto text = read_file(directory + "/" + std::string(record_file::slurm), 1 << 20);
  auto slurm = text ? run_slurm_from_json(*text) : Result<RunSlurm>(std::unexpected(text.error()));
  return slurm ? std::optional(*std::move(slurm)) : std::nullopt;
}

}  // namespace berth
