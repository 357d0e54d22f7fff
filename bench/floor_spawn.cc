// Times commands from a process too small to matter. A Python parent cannot: its size shows in the
// children's peak memory, its start-up in their time.
//
//   floor_spawn ROUNDS [NAME=VALUE…] COMMAND [ARGUMENT…] [: [NAME=VALUE…] COMMAND [ARGUMENT…]]…
//
// Runs the commands in turn, ROUNDS times, with /dev/null as stdin and output. Prints a line per
// command: for each round "microseconds:peak_kib:exit_code:cpu_microseconds". The last is of the
// command and all its children: other work on the machine changes it least.

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

namespace {

double microseconds_of(const timeval& time) {
  return static_cast<double>(time.tv_sec) * 1e6 + static_cast<double>(time.tv_usec);
}

struct Result {
  double microseconds;
  long peak_kib;
  int code;
  double cpu_microseconds;
};

Result run(char* const* command) {
  using Clock = std::chrono::steady_clock;
  const auto begin = Clock::now();
  const pid_t child = fork();
  if (child == 0) {
    const int null = open("/dev/null", O_RDWR);
    dup2(null, 0);
    dup2(null, 1);
    if (std::getenv("FLOOR_SPAWN_STDERR") == nullptr) dup2(null, 2);
    for (; std::strchr(*command, '=') != nullptr; ++command) putenv(*command);
    execvp(command[0], command);
    _exit(127);
  }
  int status = 0;
  rusage usage{};
  wait4(child, &status, 0, &usage);
  const std::chrono::duration<double, std::micro> took = Clock::now() - begin;
  return {took.count(), usage.ru_maxrss, WIFEXITED(status) ? WEXITSTATUS(status) : 128,
          microseconds_of(usage.ru_utime) + microseconds_of(usage.ru_stime)};
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  std::vector<std::vector<char*>> commands(1);
  for (int i = 2; i < argc; ++i) {
    if (std::strcmp(argv[i], ":") == 0) {
      commands.back().push_back(nullptr);
      commands.emplace_back();
    } else {
      commands.back().push_back(argv[i]);
    }
  }
  commands.back().push_back(nullptr);
  std::vector<std::string> lines(commands.size());
  for (int round = std::atoi(argv[1]); round > 0; --round) {
    for (std::size_t i = 0; i < commands.size(); ++i) {
      const Result result = run(commands[i].data());
      lines[i] += std::to_string(result.microseconds) + ":" + std::to_string(result.peak_kib) +
                  ":" + std::to_string(result.code) + ":" +
                  std::to_string(result.cpu_microseconds) + " ";
    }
  }
  for (const std::string& line : lines) std::puts(line.c_str());
}
