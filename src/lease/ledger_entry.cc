// Names, files and locks in the ledger's directory.
#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>

#include "base/text.h"
#include "lease/ledger_directory.h"
#include "lease/ledger_locks.h"

namespace berth {

Result<std::vector<std::string>> names_in(int directory) {
  // A new description: two listings of one description would share their position.
  Fd fd(::openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd.is_open()) return fail_system(errno, "list the ledger");
  const std::unique_ptr<DIR, int (*)(DIR*)> stream(::fdopendir(fd.get()), ::closedir);
  if (!stream) return fail_system(errno, "list the ledger");
  static_cast<void>(fd.release());  // the stream closes it
  std::vector<std::string> names;
  errno = 0;  // tells an error from the end
  while (const dirent* entry = ::readdir(stream.get())) {
    const std::string_view name = entry->d_name;
    if (name != "." && name != "..") names.emplace_back(name);
    errno = 0;
  }
  if (errno != 0) return fail_system(errno, "list the ledger");
  return names;
}

Result<Fd> open_entry(int directory, const std::string& name) {
  const int flags = O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC;
  Fd fd(::openat(directory, name.c_str(), flags));
  if (fd.is_open()) return fd;
  // A socket or a device, which anybody may have put there.
  if (errno == ENXIO || errno == ENODEV) {
    return fail(ErrorCode::invalid, "cannot open {}: {}", name, std::strerror(errno));
  }
  return fail_system(errno, "open {}", name);
}

std::int64_t place_in(std::string_view ticket_name) {
  constexpr std::size_t digits = 19;
  // A place further than this is a lie or a broken clock: 2262 is where nanoseconds end.
  constexpr std::int64_t furthest = 9'000'000'000'000'000'000;
  const auto place = parse_signed(ticket_name.substr(ticket_prefix.size(), digits));
  return place ? std::min(*place, furthest) : 0;
}

TicketFacts ticket_facts(const std::string& ticket_name, const struct stat& facts) {
  TicketFacts ticket{.uid = facts.st_uid, .name = ticket_name};
  ticket.arrived = std::int64_t{facts.st_ctim.tv_sec} * 1'000'000'000 + facts.st_ctim.tv_nsec;
  ticket.place = std::max(ticket.arrived, place_in(ticket_name));
  for (const auto priority : {Priority::low, Priority::high}) {
    if (ticket_name.ends_with(name_suffix(priority))) ticket.asked = priority;
  }
  return ticket;
}

std::string name_suffix(Priority priority) {
  return priority == Priority::normal ? std::string() : "-" + std::string(word_of(priority));
}

std::optional<std::vector<std::size_t>> flags_on(int fd) {
  std::vector<std::size_t> on;
  const off_t end = flag_change(until_flag, 0).start;
  off_t from = ticket_flags.start;
  while (from < end) {
    const auto locked = find_ofd_lock(fd, {.start = from, .length = end - from});
    if (!locked || !*locked) break;
    const off_t at = std::max((*locked)->start, from) - ticket_flags.start;
    if (at % flag_length % 2 == 1) on.push_back(static_cast<std::size_t>(at / flag_length));
    // Up to its end nothing has been let go: there the next flag that was ever changed begins.
    from = (*locked)->length == 0 ? end : (*locked)->start + (*locked)->length;
  }
  if (from == ticket_flags.start) return std::nullopt;
  return on;
}

std::optional<std::int64_t> gathers_until_s(int fd) {
  const off_t start = flag_change(until_flag, 0).start;
  const auto locked = find_ofd_lock(fd, {.start = start, .length = flag_length});
  if (!locked || !*locked || (*locked)->start <= start) return std::nullopt;
  return (*locked)->start - start;
}

}  // namespace berth
