#pragma once
// The container that a run's command starts, from its command line to what its keeper follows.

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "record/record_writer.h"
#include "record/run_container.h"
#include "run/container/engine.h"
#include "run/run.h"

namespace berth {

class ContainerOfRun {
 public:
  /// Before the job waits for anything. An error: the command contradicts the lease, or its engine
  /// does not answer. `tell`: what hinders the job and stops nothing.
  [[nodiscard]] Result<void> read(const RunOptions& options, const RunServices& services,
                                  const std::function<void(const RunNews&)>& tell);
  /// False: the command starts no container, as far as read() could tell.
  [[nodiscard]] bool is_there() const { return command_.has_value(); }

  /// Once the devices are known. Writes down what the container is to be.
  [[nodiscard]] Result<void> plan(const std::vector<DeviceId>& devices, const Snapshot& snapshot,
                                  const std::string& run, const RecordWriter& record,
                                  const RunOptions& options);

  [[nodiscard]] const ContainerCommand& command() const { return *command_; }
  [[nodiscard]] const RunContainer& container() const { return container_; }
  /// The command with what was put in.
  [[nodiscard]] const std::vector<std::string>& words() const { return words_; }

 private:
  std::optional<ContainerCommand> command_;
  ContainerEngine engine_;
  RunContainer container_;
  std::vector<std::string> words_;
};

}  // namespace berth
