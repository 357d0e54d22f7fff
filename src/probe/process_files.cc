#include "probe/process_files.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <set>
#include <utility>

#include "base/fd.h"
#include "base/process.h"
#include "base/process_stat.h"
#include "base/signals.h"
#include "base/text.h"
#include "probe/probe_process/child.h"
#include "probe/procfs/parse.h"
#include "snapshot/device_kind.h"

namespace berth {

namespace {

bool is_device_file(std::string_view path) {
  return std::ranges::any_of(device_file_beginnings(), [&](std::string_view beginning) {
    return path.starts_with(beginning);
  });
}

Reading<std::vector<std::string>> environment_names(const std::string& directory) {
  const auto text = read_file(directory + "/environ", 16 << 20);
  if (!text) return procfs::why_absent(text.error());
  std::set<std::string> names;
  for (const std::string_view entry : split(*text, '\0')) {
    const std::size_t equals = entry.find('=');
    if (equals != std::string_view::npos && equals > 0) names.emplace(entry.substr(0, equals));
  }
  return std::vector<std::string>(names.begin(), names.end());
}

Reading<std::vector<std::string>> device_files(const std::string& directory) {
  auto open = open_files_in(directory + "/fd");
  if (!open) return procfs::why_absent(open.error());
  std::set<std::string> files;
  for (OpenFile& file : *open) {
    if (is_device_file(file.path)) files.insert(std::move(file.path));
  }
  return std::vector<std::string>(files.begin(), files.end());
}

// The answer: a letter and a text per record, each ended by a zero byte. The last is a full stop.
void append(std::string& bytes, char kind, const Reading<std::vector<std::string>>& list) {
  const auto record = [&](char letter, std::string_view text) {
    bytes += letter;
    bytes += text;
    bytes += '\0';
  };
  if (!list.get()) return record(kind == 'e' ? 'x' : 'y', name_of(list.why()));
  for (const std::string& text : *list.get()) record(kind, text);
}

/// Nothing: it is not all there.
std::optional<ProcessFiles> parsed(std::string_view bytes) {
  std::vector<std::string> names;
  std::vector<std::string> files;
  std::optional<Absent> no_names;
  std::optional<Absent> no_files;
  for (const std::string_view record : split(bytes, '\0')) {
    if (record.empty()) continue;
    const std::string_view text = record.substr(1);
    if (record.front() == 'e') names.emplace_back(text);
    if (record.front() == 'd') files.emplace_back(text);
    if (record.front() == 'x') no_names = absent_from_name(text);
    if (record.front() == 'y') no_files = absent_from_name(text);
    if (record.front() != '.') continue;
    ProcessFiles read{.environment_names = std::move(names), .device_files = std::move(files)};
    if (no_names) read.environment_names = *no_names;
    if (no_files) read.device_files = *no_files;
    return read;
  }
  return std::nullopt;
}

}  // namespace

ProcessFiles read_process_files(ProcessId process, const std::string& proc) {
  const std::string directory = proc + "/" + std::to_string(process.pid);
  const auto is_it = [&] {
    const auto now = identify_process(process.pid, proc);
    return now && (process.start_ticks == 0 || now->start_ticks == process.start_ticks);
  };
  ProcessFiles read{.environment_names = environment_names(directory),
                    .device_files = device_files(directory)};
  // Asked afterwards: had the number passed to another process, these would be that one's files.
  if (!is_it()) return {.environment_names = Absent::failed, .device_files = Absent::failed};
  return read;
}

struct ProcessFilesLook::Parts {
  ProcessId process;
  ProbeChild child;
  Instant give_up_at;
  std::string bytes;
};

ProcessFilesLook::ProcessFilesLook(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}
ProcessFilesLook::ProcessFilesLook(ProcessFilesLook&&) noexcept = default;
ProcessFilesLook& ProcessFilesLook::operator=(ProcessFilesLook&&) noexcept = default;
ProcessFilesLook::~ProcessFilesLook() {
  if (!parts_) return;
  static_cast<void>(signal_child(parts_->child.pid, SIGKILL));
  static_cast<void>(reap_if_ended(parts_->child.pid));
}

Result<ProcessFilesLook> ProcessFilesLook::start(ProcessId process, Clock& clock,
                                                 const std::string& proc) {
  auto child = start_probe_child([&] {
    const ProcessFiles read = read_process_files(process, proc);
    std::string bytes;
    append(bytes, 'e', read.environment_names);
    append(bytes, 'd', read.device_files);
    bytes += '.';
    bytes += '\0';
    static_cast<void>(write_all(probe_answers, bytes));
  });
  if (!child) return std::unexpected(std::move(child).error());
  auto parts = std::make_unique<Parts>();
  parts->process = process;
  parts->child = std::move(*child);
  parts->give_up_at = clock.now() + std::chrono::seconds(2);
  return ProcessFilesLook(std::move(parts));
}

int ProcessFilesLook::descriptor() const { return parts_->child.answers.get(); }
ProcessId ProcessFilesLook::process() const { return parts_->process; }

std::optional<ProcessFiles> ProcessFilesLook::advance(Clock& clock) {
  const ProcessFiles nothing{.environment_names = Absent::failed, .device_files = Absent::failed};
  ReadBlock<16384> block;
  while (wait_readable({descriptor()}, Duration{0}).front()) {
    const ssize_t got = ::read(descriptor(), block.data(), block.size());
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return parsed(parts_->bytes).value_or(nothing);
    parts_->bytes.append(block.data(), static_cast<std::size_t>(got));
  }
  if (auto read = parsed(parts_->bytes)) return read;
  if (clock.now() >= parts_->give_up_at) return nothing;
  return std::nullopt;
}

}  // namespace berth
