#include "record/run_slurm.h"

#include "base/archive.h"
#include "base/fd.h"
#include "record/record_document.h"
#include "record/record_writer.h"
#include "snapshot/walk.h"

namespace berth {

namespace {
constexpr std::string_view slurm_format = "berth-run-slurm";
constexpr int slurm_version = 1;

void walk_slurm(Archive& archive, RunSlurm& slurm) {
  archive.member("job", slurm.job, Form::required);
  // It becomes a word of a command line.
  const bool is_number = slurm.job.find_first_not_of("0123456789_") == std::string::npos;
  if (slurm.job.empty() || !is_number) archive.mistake(sentence("not the number of a job"));
  archive.member("cluster", slurm.cluster);
  archive.member("submitted_unix_ms", slurm.submitted);
  archive.member("array", slurm.array);
  archive.member("asked", slurm.asked);
}
}  // namespace

std::string run_slurm_to_json(const RunSlurm& slurm) {
  return document(slurm_format, slurm_version, slurm, walk_slurm);
}

Result<RunSlurm> run_slurm_from_json(std::string_view text) {
  return read_document<RunSlurm>(text, slurm_format, slurm_version, walk_slurm);
}

std::optional<RunSlurm> run_slurm_in(const std::string& directory) {
  if (directory.empty()) return std::nullopt;
  const auto text = read_file(directory + "/" + std::string(record_file::slurm), 1 << 20);
  auto slurm = text ? run_slurm_from_json(*text) : Result<RunSlurm>(std::unexpected(text.error()));
  return slurm ? std::optional(*std::move(slurm)) : std::nullopt;
}

}  // namespace berth
