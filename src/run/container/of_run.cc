#include "run/container/of_run.h"

#include <utility>

#include "base/fd.h"
#include "base/sentence.h"
#include "base/text.h"

namespace berth {

Result<void> ContainerOfRun::read(const RunOptions& options, const RunServices& services,
                                  const std::function<void(const RunNews&)>& tell) {
  auto read = read_container_command(options.job.command);
  if (!read) return std::unexpected(std::move(read).error());
  if (!*read) return {};
  command_ = **std::move(read);
  auto engine = fit_container(*command_, options, services);
  if (!engine) return std::unexpected(std::move(engine).error());
  engine_ = *std::move(engine);
  if (!tell || !options.retry_of.empty() || options.job.where == RunWhere::cpu) return {};
  const auto baked_in = devices_set_by_image(*command_, options.environment, services.clock);
  if (!baked_in) return {};
  tell(RunRemark{
      sentence("image {} sets CUDA_VISIBLE_DEVICES=\"{}\". A container counts its own cards from "
               "0, and this hides the others (leave the line out of its Dockerfile)",
               printable(command_->image_name()), printable(*baked_in))});
  return {};
}

Result<void> ContainerOfRun::plan(const std::vector<DeviceId>& devices, const Snapshot& snapshot,
                                  const std::string& run, const RecordWriter& record,
                                  const RunOptions& options) {
  auto start =
      start_container_with(*command_, devices, snapshot, engine_,
                           {.run = run, .cid_file = record.path_of(record_file::container_id)});
  if (!start) return std::unexpected(std::move(start).error());
  words_ = std::move(start->command);
  container_ = {.engine = command_->engine,
                .engine_words = command_->engine_words(),
                .environment = engine_variables(options.environment),
                .added = std::move(start->added),
                .cid_file = std::move(start->cid_file),
                .image = command_->image_name()};
  return write_file_atomically(record.path_of(record_file::container),
                               run_container_to_json(container_), 0600);
}

}  // namespace berth
