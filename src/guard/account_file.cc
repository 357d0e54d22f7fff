#include "guard/account_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <utility>

#include "base/fd.h"
#include "base/text.h"
#include "guard/account.h"

namespace berth {

namespace {

/// "GPU-1f2e…": 32 hexadecimal digits after the kind, dashes among them.
bool read_uuid(std::string_view text, std::uint8_t (&uuid)[16]) {
  const std::size_t kind = text.find('-');
  std::string digits = small_letters(kind == text.npos ? "" : text.substr(kind + 1));
  std::erase(digits, '-');
  if (digits.size() != 2 * sizeof uuid) return false;
  for (std::size_t i = 0; i < sizeof uuid; ++i) {
    unsigned value = 0;
    for (const char c : digits.substr(2 * i, 2)) {
      constexpr std::string_view hexadecimal = "0123456789abcdef";
      const std::size_t digit = hexadecimal.find(c);
      if (digit == hexadecimal.npos) return false;
      value = value * 16 + static_cast<unsigned>(digit);
    }
    uuid[i] = static_cast<std::uint8_t>(value);
  }
  return true;
}

std::uint64_t sum_of_charges(const berth_account& account, std::size_t device) {
  std::uint64_t sum = 0;
  for (const berth_account_slot& slot : account.slots) {
    if (slot.pid == 0 || slot.pid == BERTH_ACCOUNT_EMPTYING) continue;
    sum += BERTH_ACCOUNT_BYTES(slot.charged[device]);
  }
  return sum;
}

bool is_of_this_version(const berth_account_header& header) {
  return header.magic == BERTH_ACCOUNT_MAGIC && header.version == BERTH_ACCOUNT_VERSION &&
         header.file_bytes == sizeof(berth_account) && header.device_count <= BERTH_ACCOUNT_DEVICES;
}

}  // namespace

void AccountFile::Unmap::operator()(berth_account* account) const {
  ::munmap(account, sizeof *account);
}

Result<AccountFile> AccountFile::mapped(Fd fd, const std::string& path) {
  void* at =
      ::mmap(nullptr, sizeof(berth_account), PROT_READ | PROT_WRITE, MAP_SHARED, fd.get(), 0);
  if (at == MAP_FAILED) return fail_system(errno, "map the memory account {}", path);
  AccountFile file;
  file.fd_ = std::move(fd);
  file.account_.reset(static_cast<berth_account*>(at));
  return file;
}

Result<AccountFile> AccountFile::make(const std::string& path,
                                      const std::vector<AccountDevice>& devices) {
  berth_account_header header{};
  header.magic = BERTH_ACCOUNT_MAGIC;
  header.version = BERTH_ACCOUNT_VERSION;
  header.file_bytes = sizeof(berth_account);
  header.device_count = devices.size();
  if (devices.size() > BERTH_ACCOUNT_DEVICES) {
    return fail(ErrorCode::invalid, "a memory account has no place for {} devices", devices.size());
  }
  for (std::size_t i = 0; i < devices.size(); ++i) {
    if (!read_uuid(devices[i].uuid, header.devices[i].uuid)) {
      return fail(ErrorCode::invalid, "no memory account for a device without a UUID: {}",
                  printable(devices[i].uuid));
    }
    if (devices[i].limit) header.devices[i].limit_bytes = devices[i].limit->count();
    header.devices[i].context_bytes = devices[i].context.count();
  }
  auto fd = open_fd(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, 0600);
  if (!fd) return std::unexpected(std::move(fd).error());
  if (::fchmod(fd->get(), 0600) != 0) {  // whatever the umask
    return fail_system(errno, "set the mode of {}", path);
  }
  // All blocks now: on a full disk the job's first write would be a SIGBUS.
  if (const int why = ::posix_fallocate(fd->get(), 0, sizeof(berth_account)); why != 0) {
    ::unlink(path.c_str());
    return fail_system(why, "make the memory account {}", path);
  }
  if (auto written = write_all(fd->get(), {reinterpret_cast<const char*>(&header), sizeof header});
      !written) {
    return std::unexpected(
        std::move(written).error().because("making the memory account {}", path));
  }
  return mapped(*std::move(fd), path);
}

Result<AccountFile> AccountFile::open(const std::string& path) {
  auto fd = open_fd(path, O_RDWR | O_NOFOLLOW | O_NONBLOCK);
  if (!fd) return std::unexpected(std::move(fd).error());
  struct stat facts{};
  berth_account_header header{};
  if (::fstat(fd->get(), &facts) != 0 || !S_ISREG(facts.st_mode) ||
      facts.st_size != static_cast<off_t>(sizeof(berth_account)) ||
      ::pread(fd->get(), &header, sizeof header, 0) != sizeof header ||
      !is_of_this_version(header)) {
    return fail(ErrorCode::invalid, "{} is no memory account of this version", path);
  }
  return mapped(*std::move(fd), path);
}

Result<std::unique_ptr<berth_account>> AccountFile::read() const {
  // Read, not mapped: if the file is cut short meanwhile, this process lives on.
  auto account = std::make_unique<berth_account>();
  const ssize_t got = ::pread(fd_.get(), account.get(), sizeof *account, 0);
  if (got == sizeof *account && is_of_this_version(account->header)) return account;
  return fail(ErrorCode::io, "the memory account was damaged by the job");
}

Result<std::vector<AccountFile::Told>> AccountFile::told() const {
  const auto account = read();
  if (!account) return std::unexpected(account.error());
  std::vector<Told> all;
  for (std::size_t i = 0; i < (*account)->header.device_count; ++i) {
    all.push_back({.charged = Bytes{sum_of_charges(**account, i)},
                   .highest = Bytes{(*account)->results[i].highest_bytes},
                   .refusals = (*account)->results[i].refusals,
                   .context = Bytes{(*account)->header.devices[i].context_bytes}});
  }
  return all;
}

void AccountFile::tell_unseen(std::size_t place, Bytes unseen) {
  if (place >= BERTH_ACCOUNT_DEVICES) return;
  __atomic_store_n(&account_->results[place].unseen_bytes, unseen.count(), __ATOMIC_RELAXED);
}

Bytes AccountFile::Slot::sum() const {
  Bytes all{0};
  for (const Bytes& one : charged) all += one;
  return all;
}

Result<std::vector<AccountFile::Slot>> AccountFile::slots() const {
  const auto account = read();
  if (!account) return std::unexpected(account.error());
  std::vector<Slot> taken;
  for (std::size_t number = 0; number < BERTH_ACCOUNT_SLOTS; ++number) {
    const berth_account_slot& slot = (*account)->slots[number];
    if (slot.pid == 0 || slot.pid == BERTH_ACCOUNT_EMPTYING || slot.start_time == 0) continue;
    Slot one{.number = number,
             .pid = slot.pid,
             .start_time = slot.start_time,
             .pid_namespace = slot.pid_namespace};
    for (std::size_t i = 0; i < (*account)->header.device_count; ++i) {
      one.charged.emplace_back(BERTH_ACCOUNT_BYTES(slot.charged[i]));
    }
    taken.push_back(std::move(one));
  }
  return taken;
}

bool AccountFile::give_back(const Slot& slot, const std::function<bool()>& is_gone) {
  if (slot.number >= BERTH_ACCOUNT_SLOTS) return false;
  berth_account_slot& one = account_->slots[slot.number];
  const auto store = [](std::uint64_t& word, std::uint64_t value) {
    __atomic_store_n(&word, value, __ATOMIC_SEQ_CST);
  };
  std::uint64_t pid = slot.pid;
  if (!__atomic_compare_exchange_n(&one.pid, &pid, BERTH_ACCOUNT_EMPTYING, false, __ATOMIC_SEQ_CST,
                                   __ATOMIC_SEQ_CST)) {
    return false;
  }
  const bool is_the_same = __atomic_load_n(&one.start_time, __ATOMIC_SEQ_CST) == slot.start_time;
  if (!is_the_same || !is_gone()) {
    store(one.pid, slot.pid);
    return false;
  }
  for (std::uint64_t& charged : one.charged) store(charged, 0);
  store(one.start_time, 0);
  store(one.pid, 0);
  return true;
}

std::string AccountFile::name_in_maps(const std::string& proc) const {
  constexpr std::size_t longest = 64 << 20;
  const auto maps = read_file(proc + "/self/maps", longest);
  // 7f00-7f10 rw-s 00000000 fe:01 1234   /path: the device as this file system shows it there.
  const std::string beginning =
      fmt::format("{:x}-", reinterpret_cast<std::uintptr_t>(account_.get()));
  for (const std::string_view line : maps ? split(*maps, '\n') : std::vector<std::string_view>()) {
    const auto words = split(line, ' ');
    if (line.starts_with(beginning) && words.size() > 5) {
      return fmt::format(" {} {} ", words[3], words[4]);
    }
  }
  return {};
}

Reading<bool> has_shim_mapped(pid_t process, const std::string& image, const std::string& proc) {
  constexpr std::size_t longest = 64 << 20;
  const auto maps = read_file(fmt::format("{}/{}/maps", proc, process), longest);
  if (maps) return maps->find(" " + image + "\n") != std::string::npos;
  if (maps.error().code() == ErrorCode::not_found) return false;
  return maps.error().code() == ErrorCode::no_permission ? Absent::no_permission : Absent::failed;
}

}  // namespace berth
