#pragma once
// What only a process's own files tell: the names in its environment (never the values: they hold
// secrets) and the device files it has open. Reading them can block for ever. So a probe process
// does it, and the caller polls that beside its other descriptors.

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/ids.h"
#include "base/reading.h"
#include "base/result.h"

namespace berth {

struct ProcessFiles {
  Reading<std::vector<std::string>> environment_names;  // sorted
  Reading<std::vector<std::string>> device_files;       // of GPUs, each once, sorted
};

class ProcessFilesLook {
 public:
  [[nodiscard]] static Result<ProcessFilesLook> start(ProcessId process, Clock& clock,
                                                      const std::string& proc = "/proc");
  ProcessFilesLook(ProcessFilesLook&&) noexcept;
  ProcessFilesLook& operator=(ProcessFilesLook&&) noexcept;
  ~ProcessFilesLook();

  [[nodiscard]] int descriptor() const;
  [[nodiscard]] ProcessId process() const;
  /// What was read, once it is; after two seconds without an answer, that it failed.
  [[nodiscard]] std::optional<ProcessFiles> advance(Clock& clock);

 private:
  struct Parts;
  explicit ProcessFilesLook(std::unique_ptr<Parts> parts);
  std::unique_ptr<Parts> parts_;
};

/// The reading itself, in the calling process. May block.
[[nodiscard]] ProcessFiles read_process_files(ProcessId process, const std::string& proc);

}  // namespace berth
