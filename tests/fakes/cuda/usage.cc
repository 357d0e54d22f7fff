// What is used of the cards by this process. With BERTH_FAKE_CUDA_MEMORY it is what all processes
// use that name the same file. Each has a row there, which counts while the process lives. So
// memory of a killed process is free again, as with the driver.

#include <fcntl.h>
#include <pthread.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <mutex>

#include "fake_driver.h"

namespace fake {
namespace {

constexpr std::size_t most_cards = 64;
constexpr std::size_t most_processes = 512;

struct ProcessRow {
  pid_t pid = 0;
  std::size_t start = 0;  ///< field 22 of its stat
  std::array<std::size_t, most_cards> used{};
};

struct Table {
  pthread_mutex_t mutex{};
  std::array<ProcessRow, most_processes> rows{};
};

Table own;  // of a process by itself: its first row
Table* shared_table = nullptr;

/// 0: it has ended.
std::size_t start_of(pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
  std::string text((std::istreambuf_iterator<char>(file)), {});
  const auto name_end = text.rfind(')');
  if (name_end == std::string::npos || text[name_end + 2] == 'Z') return 0;
  const auto fields = entries(text.substr(name_end + 2), ' ');
  return fields.size() > 19 ? std::strtoull(fields[19].c_str(), nullptr, 10) : 0;
}

void begin(Table& table, bool for_all) {
  pthread_mutexattr_t kind;
  pthread_mutexattr_init(&kind);
  if (for_all) {
    pthread_mutexattr_setpshared(&kind, PTHREAD_PROCESS_SHARED);
    pthread_mutexattr_setrobust(&kind, PTHREAD_MUTEX_ROBUST);
  }
  pthread_mutex_init(&table.mutex, &kind);
}

Table* open_table(const std::string& path) {
  const int file = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (file < 0) std::abort();
  ::flock(file, LOCK_EX);
  struct stat now{};
  ::fstat(file, &now);
  const bool is_new = now.st_size == 0;
  if (is_new && ::ftruncate(file, sizeof(Table)) != 0) std::abort();
  void* memory = ::mmap(nullptr, sizeof(Table), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (memory == MAP_FAILED) std::abort();
  if (is_new) begin(*static_cast<Table*>(memory), true);
  ::flock(file, LOCK_UN);  // the mapping would keep it
  ::close(file);
  return static_cast<Table*>(memory);
}

Table& table() {
  static std::once_flag once;
  std::call_once(once, [] {
    const std::string path = variable("BERTH_FAKE_CUDA_MEMORY");
    if (!path.empty()) shared_table = open_table(path);
    if (path.empty()) begin(own, false);
  });
  return shared_table != nullptr ? *shared_table : own;
}

class Locked {
 public:
  explicit Locked(Table& table) : table_(table) {
    if (pthread_mutex_lock(&table_.mutex) == EOWNERDEAD) pthread_mutex_consistent(&table_.mutex);
  }
  ~Locked() { pthread_mutex_unlock(&table_.mutex); }
  Locked(const Locked&) = delete;
  Locked& operator=(const Locked&) = delete;

 private:
  Table& table_;
};

ProcessRow& own_row(Table& table) {
  if (shared_table == nullptr) return table.rows[0];
  static ProcessRow* mine = nullptr;
  static pid_t of = 0;
  if (mine != nullptr && of == ::getpid()) return *mine;
  of = ::getpid();
  const std::size_t start = start_of(of);
  for (ProcessRow& row : table.rows) {
    if (row.pid != 0 && (row.pid != of || row.start == start) && start_of(row.pid) == row.start)
      continue;
    row = {of, start, {}};
    mine = &row;
    return row;
  }
  std::abort();  // more processes than a test has
}

/// The sum over all processes. A row of a process that has ended is emptied.
std::size_t sum(Table& table, std::size_t number, bool sweep) {
  std::size_t bytes = 0;
  for (ProcessRow& row : table.rows) {
    if (sweep && row.pid != 0 && row.used[number] > 0 && start_of(row.pid) != row.start) row = {};
    bytes += row.used[number];
  }
  return bytes;
}

/// As the server of MPS holds its clients, where one runs: "0=10240M,1=512M", by what they see.
/// The fault "mps" leaves them without, as a server does that a client's list confuses.
std::size_t most_of_a_client(int device) {
  const std::string pipes = variable("CUDA_MPS_PIPE_DIRECTORY");
  const bool is_served = !pipes.empty() && ::access((pipes + "/control").c_str(), F_OK) == 0;
  if (!is_served || has_fault("mps")) return SIZE_MAX;
  const std::string mine = std::to_string(device) + "=";
  for (const std::string& limit : entries(variable("CUDA_MPS_PINNED_DEVICE_MEM_LIMIT"), ',')) {
    if (limit.starts_with(mine)) return bytes_of(limit.substr(mine.size()));
  }
  return SIZE_MAX;
}

}  // namespace

std::size_t up_to(std::size_t bytes, std::size_t unit) { return (bytes + unit - 1) / unit * unit; }

bool use(int device, std::size_t bytes) {
  const Card* one = card(device);
  if (one == nullptr || bytes > one->bytes) return false;
  Table& all = table();
  const Locked lock(all);
  ProcessRow& mine = own_row(all);
  if (mine.used[one->number] + bytes > most_of_a_client(device)) return false;
  if (shared_table == nullptr) {
    if (mine.used[one->number] > one->bytes - bytes) return false;
  } else if (sum(all, one->number, false) > one->bytes - bytes &&
             sum(all, one->number, true) > one->bytes - bytes) {
    return false;
  }
  mine.used[one->number] += bytes;
  return true;
}

void give_back(int device, std::size_t bytes) {
  Table& all = table();
  const Locked lock(all);
  own_row(all).used[card(device)->number] -= bytes;
}

std::size_t free_of(int device) {
  const Card* one = card(device);
  Table& all = table();
  const Locked lock(all);
  const std::size_t mine = own_row(all).used[one->number];
  const std::size_t used = shared_table == nullptr ? mine : sum(all, one->number, true);
  const std::size_t limit = most_of_a_client(device);
  return std::min(one->bytes - used, limit - std::min(limit, mine));
}

}  // namespace fake
