#include "stress/jobs.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <filesystem>

#include "base/fd.h"
#include "base/text.h"
#include "snapshot/builder.h"

namespace berth::stress {

Scene make_scene() {
  std::string name = "/tmp/berth-stress-XXXXXX";
  if (::mkdtemp(name.data()) == nullptr) give_up("cannot make a folder in /tmp");
  ::chmod(name.c_str(), 0755);
  Scene scene{
      .folder = name, .ledger = name + "/ledger", .tokens = name + "/tokens", .log = name + "/log"};
  ::mkdir(scene.tokens.c_str(), 0777);
  ::chmod(scene.tokens.c_str(), 01777);
  const auto log = open_fd(scene.log, O_WRONLY | O_CREAT, 0666);
  if (log) ::fchmod(log->get(), 0666);
  return scene;
}

void remove_scene(const Scene& scene) {
  std::error_code ignored;
  std::filesystem::remove_all(scene.folder, ignored);
}

Snapshot eight_devices() {
  using namespace literals;
  SnapshotBuilder builder;
  for (int i = 0; i < 8; ++i) builder.gpu("GPU-simulated-" + std::to_string(i), 80_GiB);
  Snapshot snapshot = builder.build();
  snapshot.simulated = "stress";
  return snapshot;
}

void give_up(const std::string& what) {
  std::fprintf(stderr, "FAILED: %s\n", what.c_str());
  ::_exit(1);
}

void skip(const std::string& why) {
  std::printf("SKIPPED: %s\n", why.c_str());
  std::fflush(stdout);
  ::_exit(77);
}

void expect(bool held, const std::string& what) {
  if (!held) give_up(what);
}

Ledger open_ledger(const Scene& scene, Clock& clock, LedgerPlace::Kind kind) {
  auto ledger = Ledger::open({.directory = scene.ledger, .kind = kind}, clock);
  if (!ledger) give_up(ledger.error().message());
  return *std::move(ledger);
}

void take_token(const Scene& scene, const DeviceId& device) {
  const std::string path = scene.tokens + "/" + device.text();
  const Fd token(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644));
  if (!token.is_open()) give_up(device.text() + " was given to two jobs at once");
}

void return_token(const Scene& scene, const DeviceId& device) {
  ::unlink((scene.tokens + "/" + device.text()).c_str());
}

void log_line(const Scene& scene, const std::string& line) {
  const auto log = open_fd(scene.log, O_WRONLY | O_APPEND);
  if (!log || !write_all(log->get(), line + "\n")) give_up("cannot write the log");
}

std::vector<std::string> log_lines(const Scene& scene) {
  std::vector<std::string> lines;
  const auto text = read_file(scene.log);
  if (!text) return lines;
  for (const std::string_view line : split(*text, '\n')) {
    if (!line.empty()) lines.emplace_back(line);
  }
  return lines;
}

pid_t start(const std::function<int()>& body) {
  std::fflush(nullptr);
  const pid_t child = ::fork();
  if (child < 0) give_up("cannot fork");
  if (child == 0) ::_exit(body());
  return child;
}

int finish(pid_t child) {
  int status = 0;
  while (::waitpid(child, &status, 0) < 0) {
    if (errno != EINTR) return -1;
  }
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

std::vector<std::string> left_over(const Scene& scene) {
  auto names = list_directory(scene.ledger).value_or(std::vector<std::string>{"unreadable"});
  std::erase(names, "host.lock");
  return names;
}

AcquireOptions options_for(const std::string& run, int devices,
                           std::optional<std::chrono::milliseconds> wait) {
  AcquireOptions options;
  options.request.devices = devices;
  options.claim.run = run;
  options.claim.command = "stress " + run;
  options.wait = wait;
  return options;
}

}  // namespace berth::stress
