// A job that proves what it was given, outside the ledger and without berth's words. Each of its
// processes leaves a mark per device. The mark counts as long as the kernel says that this process
// lives.
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <map>

#include "base/process.h"
#include "base/process_stat.h"
#include "base/text.h"
#include "stress/jobs.h"

namespace berth::stress {

namespace {

using std::chrono::milliseconds;

/// What the simulated cards have, in GiB.
constexpr std::uint64_t card_gib = 79;
/// /proc/PID/stat, "flags": it has begun to end, and so may have closed its files (PF_EXITING).
constexpr std::uint64_t exiting = 4;

struct Mark {
  pid_t pid = 0;
  std::uint64_t start_ticks = 0;
  std::uint64_t gib = 0;  // 0: the whole device
  std::string run;
};

/// "PID.START.GIB.RUN"
std::optional<Mark> parse_mark(std::string_view name) {
  const auto parts = split(name, '.');
  if (parts.size() != 4) return std::nullopt;
  const auto pid = parse_unsigned(parts[0]);
  const auto start = parse_unsigned(parts[1]);
  const auto gib = parse_unsigned(parts[2]);
  if (!pid || !start || !gib) return std::nullopt;
  return Mark{static_cast<pid_t>(*pid), *start, *gib, std::string(parts[3])};
}

/// By the kernel's word: a process that is being ended by a signal lives until it has begun to.
bool lives(const Mark& mark) {
  const auto text = read_file("/proc/" + std::to_string(mark.pid) + "/stat");
  const auto stat = text ? parse_process_stat(*text) : std::nullopt;
  if (!stat || stat->id.start_ticks != mark.start_ticks) return false;
  if (stat->state == 'Z' || stat->state == 'X') return false;
  const auto fields = split(trimmed(text->substr(text->rfind(')') + 2)), ' ');
  const auto flags = fields.size() > 6 ? parse_unsigned(fields[6]) : std::nullopt;
  return flags && (*flags & exiting) == 0;
}

class Marks {
 public:
  Marks(std::string folder, std::uint64_t gib) : folder_(std::move(folder)), gib_(gib) {
    const char* devices = std::getenv("CUDA_VISIBLE_DEVICES");
    const char* run = std::getenv("BERTH_RUN");
    if (devices == nullptr || *devices == '\0' || run == nullptr) note("collisions", "no device");
    run_ = run == nullptr ? "none" : run;
    for (const auto device : split(devices == nullptr ? "" : devices, ',')) {
      devices_.emplace_back(device);
    }
  }

  /// For this process, on each device; then looks who else is there.
  void put() {
    const ProcessId me = own_process_id();
    name_ = std::to_string(me.pid) + "." + std::to_string(me.start_ticks) + "." +
            std::to_string(gib_) + "." + run_;
    for (const std::string& device : devices_) {
      // It is for all users from the first. The process that makes it may be killed or stopped at
      // any moment.
      const mode_t before = ::umask(0);
      ::mkdir((folder_ + "/on-" + device).c_str(), 01777);
      ::umask(before);
      const Fd made(::open(path(device).c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644));
      if (!made.is_open()) note("collisions", std::string("no mark: ") + std::strerror(errno));
    }
    for (const std::string& device : devices_) check(device);
  }

  void take_away() const {
    for (const std::string& device : devices_) ::unlink(path(device).c_str());
  }

  void note(const char* file, const std::string& what) const {
    const auto log = open_fd(folder_ + "/" + file, O_WRONLY | O_APPEND);
    if (!log || !write_all(log->get(), run_ + " " + what + "\n")) ::_exit(98);
  }

  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] const std::vector<std::string>& devices() const { return devices_; }

 private:
  [[nodiscard]] std::string path(const std::string& device) const {
    return folder_ + "/on-" + device + "/" + name_;
  }

  void check(const std::string& device) const {
    std::map<std::string, std::uint64_t> promised{{run_, gib_}};
    const auto names = list_directory(folder_ + "/on-" + device);
    for (const std::string& name : names.value_or(std::vector<std::string>{})) {
      const auto mark = parse_mark(name);
      if (!mark || mark->run == run_ || !lives(*mark)) continue;
      if (mark->gib == 0 || gib_ == 0) note("collisions", "beside " + name + " on " + device);
      promised[mark->run] = mark->gib;
    }
    std::uint64_t sum = 0;
    for (const auto& [run, gib] : promised) sum += gib;
    if (sum > card_gib) {
      note("collisions", std::to_string(sum) + " GiB promised on " + device);
    }
  }

  std::string folder_;
  std::uint64_t gib_;
  std::string run_;
  std::string name_;
  std::vector<std::string> devices_;
};

void sleep_for(milliseconds time) {
  SystemClock clock;
  clock.wait_until(clock.now() + time);
}

/// As Python's subprocess starts one: nothing inherited but the standard streams; and with nothing
/// in its environment. The process stays the same, and so does its mark.
[[noreturn]] void become_bare(const std::string& folder, const Marks& marks, milliseconds time) {
  ::close_range(3, ~0U, 0);
  std::vector<std::string> words{"lease_stress", "bare", folder, marks.name(),
                                 std::to_string(time.count())};
  words.insert(words.end(), marks.devices().begin(), marks.devices().end());
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  char* none = nullptr;
  ::execve("/proc/self/exe", arguments.data(), &none);
  ::_exit(97);
}

/// Starts the body in a child; waits until the child has said so by closing the pipe.
pid_t start_and_wait_for_its_mark(const std::function<void()>& body,
                                  const std::function<void()>& put) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) ::_exit(96);
  const pid_t child = start([&] {
    ::close(ends[0]);
    put();
    ::close(ends[1]);
    body();
    return 0;
  });
  ::close(ends[1]);
  char none = 0;
  while (::read(ends[0], &none, 1) > 0) {
  }
  ::close(ends[0]);
  return child;
}

}  // namespace

int device_job(const std::string& folder, const std::string& kind, milliseconds time,
               std::uint64_t gib) {
  Marks marks(folder, gib);
  marks.put();
  marks.note("started", kind);
  if (kind == "plain") sleep_for(time);
  if (kind == "bare") become_bare(folder, marks, time);
  if (kind == "child" || kind == "daemon") {
    Marks of_child(folder, gib);
    const pid_t child = start_and_wait_for_its_mark(
        [&] {
          if (kind == "daemon") {
            ::setsid();
            become_bare(folder, of_child, time);
          }
          sleep_for(time);
          of_child.take_away();
        },
        [&] { of_child.put(); });
    if (kind == "child") static_cast<void>(finish(child));
  }
  marks.take_away();
  return 0;
}

int bare_job(const std::string& folder, const std::string& mark, milliseconds time,
             const std::vector<std::string>& devices) {
  sleep_for(time);
  for (const std::string& device : devices) {
    ::unlink((folder + "/on-" + device + "/" + mark).c_str());
  }
  return 0;
}

}  // namespace berth::stress
