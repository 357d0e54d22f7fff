#include "run/device_scope.h"

#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <system_error>

#include "base/fd.h"
#include "base/process.h"
#include "base/text.h"

namespace berth {

namespace {

bool is_device_file(const std::string& path) {
  struct stat facts{};
  return ::lstat(path.c_str(), &facts) == 0 && (S_ISCHR(facts.st_mode) || S_ISBLK(facts.st_mode));
}

}  // namespace

std::string systemd_run_in(const std::string& root) {
  struct stat facts{};
  // sd_booted(3)
  if (::lstat((root + "/run/systemd/system").c_str(), &facts) != 0) return {};
  return find_executable("systemd-run", default_search_path).value_or("");
}

std::vector<std::string> device_files_in(const IsolationPlan& plan) {
  std::vector<std::string> files;
  for (const auto* paths : {&plan.open, &plan.own}) {
    for (const std::string& path : *paths) {
      if (!path.starts_with("/dev/") || path == "/dev/pts" || path == "/dev/shm") continue;
      if (is_device_file(path)) files.push_back(path);
      std::error_code failed;  // no folder, or it has gone
      for (std::filesystem::recursive_directory_iterator at(path, failed), end;
           !failed && at != end; at.increment(failed)) {
        if (is_device_file(at->path().string())) files.push_back(at->path().string());
      }
    }
  }
  return files;
}

std::vector<std::string> in_device_scope(const std::string& systemd_run,
                                         const std::vector<std::string>& device_files,
                                         const std::vector<std::string>& command) {
  std::vector<std::string> words = {systemd_run,
                                    "--scope",
                                    "--quiet",
                                    "-p",
                                    "DevicePolicy=strict",
                                    "-p",
                                    "DeviceAllow=char-pts rw"};
  for (const std::string& file : device_files) {
    words.insert(words.end(), {"-p", "DeviceAllow=" + file + " rw"});
  }
  words.emplace_back("--");
  words.insert(words.end(), command.begin(), command.end());
  return words;
}

Result<void> try_device_scope(const std::string& systemd_run, Clock& clock) {
  const auto words =
      in_device_scope(systemd_run, {"/dev/null"},
                      {"/bin/sh", "-c", ": </dev/null && ! (: </dev/zero) 2>/dev/null"});
  const auto answer = ask_child(
      [&] {
        (void)::dup2(STDOUT_FILENO, STDERR_FILENO);
        (void)write_all(STDOUT_FILENO, execute(words, {}, default_search_path).message());
        return 1;
      },
      clock, std::chrono::seconds(20));
  if (!answer) return std::unexpected(answer.error());
  if (answer->exit == Exit{}) return {};
  return fail(ErrorCode::unsupported,
              "cannot isolate the job: device rules of systemd do not hold here ({}): {}",
              systemd_run,
              answer->out.empty() ? sentence("it does not answer")
                                  : Sentence(printable(trimmed(answer->out))));
}

}  // namespace berth
