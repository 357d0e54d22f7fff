#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include <fmt/format.h>

#include "base/fd.h"
#include "base/process.h"
#include "base/text.h"
#include "host_environment/machine_side.h"
#include "snapshot/device_kind.h"

namespace berth {

namespace {

Reading<bool> secure_boot(const std::string& root) {
  const auto bytes = read_file(
      root + "/sys/firmware/efi/efivars/SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c", 64);
  // Four bytes of attributes, then the value (UEFI specification, "Globally Defined Variables").
  if (!bytes || bytes->size() < 5) return Absent::unsupported;
  return (*bytes)[4] == 1;
}

Reading<bool> module_installed(const std::string& root, const Reading<std::string>& release) {
  if (!release.get()) return Absent::unsupported;
  const auto index = read_file(root + "/lib/modules/" + *release.get() + "/modules.dep", 16 << 20);
  if (!index) return Absent::unsupported;
  // Debian's are nvidia-current.ko, nvidia-tesla-470.ko, nvidia-legacy-390xx.ko.
  for (const char* name : {"/nvidia.ko", "/nvidia-current.ko", "/nvidia-tesla", "/nvidia-legacy"}) {
    if (index->find(name) != std::string::npos) return true;
  }
  return false;
}

/// NVML lists GPU instances to root alone. The kernel shows everybody a folder for each
/// (capabilities/gpu0/mig/gi1/ci0, by the card's minor number).
std::vector<HollowInstance> hollow_instances(const std::string& root) {
  std::vector<HollowInstance> hollow;
  const std::string top = root + "/proc/driver/nvidia/capabilities";
  for (const std::string& card : entries_in(top)) {
    const auto minor = number_behind(card, "gpu");
    if (!minor) continue;
    const std::string folder = top + "/" + card + "/mig";
    for (const std::string& name : entries_in(folder)) {
      const auto instance = number_behind(name, "gi");
      if (!instance || *instance > 1000) continue;
      const auto inside = list_directory(folder + "/" + name);
      if (!inside) continue;
      const bool computes = std::ranges::any_of(
          *inside, [](const std::string& one) { return number_behind(one, "ci").has_value(); });
      if (!computes) hollow.push_back({*minor, static_cast<unsigned>(*instance)});
    }
  }
  return hollow;
}

std::string mode_text(const std::string& path) {
  struct stat facts{};
  if (::stat(path.c_str(), &facts) != 0) return "";
  std::string text = S_ISCHR(facts.st_mode) ? "c" : "-";
  for (int bit = 8; bit >= 0; --bit) {
    text += (facts.st_mode >> bit & 1U) != 0 ? "xwr"[bit % 3] : '-';
  }
  return fmt::format("{} {}:{}", text, facts.st_uid, facts.st_gid);
}

FileAccess access_of(int error) {
  switch (error) {
    case 0:
      return FileAccess::opens;
    case ENOENT:
      return FileAccess::missing;
    case EACCES:
      return FileAccess::forbidden;
    case EPERM:
      return FileAccess::blocked;
    default:
      return FileAccess::fails;
  }
}

}  // namespace

std::optional<std::string> parse_nvrm_version(std::string_view text) {
  const std::string_view line = text.substr(0, text.find('\n'));
  if (line.find("NVRM") == line.npos) return std::nullopt;
  for (const std::string_view word : split(line, ' ')) {
    const std::size_t dot = word.find('.');
    if (dot == word.npos || dot < 2) continue;
    if (word.find_first_not_of("0123456789.") == word.npos) return std::string(word);
  }
  return std::nullopt;
}

KernelSide gather_kernel_side(const std::string& root) {
  KernelSide side;
  const auto release = read_file(root + "/proc/sys/kernel/osrelease", 4096);
  side.release = release ? Reading<std::string>(std::string(trimmed(*release)))
                         : Reading<std::string>(Absent::unsupported);
  side.module_version = Absent::unsupported;
  if (const auto text = read_file(root + "/proc/driver/nvidia/version", 1 << 16)) {
    if (auto version = parse_nvrm_version(*text)) side.module_version = std::move(*version);
  }
  if (const auto text = read_file(root + "/sys/module/nvidia/version", 4096)) {
    if (!side.module_version.get()) side.module_version = std::string(trimmed(*text));
  }
  side.secure_boot = secure_boot(root);
  side.module_installed = module_installed(root, side.release);
  side.is_wsl = is_there(root + "/dev/dxg");
  side.hollow_instances = hollow_instances(root);
  return side;
}

namespace {

/// Whether programs of a runtime that berth knows reach their devices by it.
bool is_opened_by_programs(std::string_view path) {
  return std::ranges::any_of(device_kinds(), [&](const DeviceKindFacts& facts) {
    const bool is_card = !facts.card_file.empty() && path.starts_with(facts.card_file);
    const bool is_further =
        std::ranges::find(facts.further_files, path) != facts.further_files.end();
    return facts.runtime != Runtime::none && (is_card || is_further);
  });
}

/// Those whose permissions doctor judges.
std::vector<std::string> device_paths(const std::string& root) {
  std::vector<std::string> paths;
  for (const std::string folder : {"/dev/", "/dev/dri/"}) {
    for (const std::string& name : entries_in(root + folder)) {
      if (is_opened_by_programs(folder + name)) paths.push_back(folder + name);
    }
  }
  return paths;
}

}  // namespace

std::vector<DeviceFile> gather_device_files(const std::string& root, OpenWhich which,
                                            Clock& clock) {
  std::vector<DeviceFile> files;
  for (const std::string& device : device_paths(root)) {
    const std::string path = root + device;
    struct stat facts{};
    if (::stat(path.c_str(), &facts) != 0 || S_ISDIR(facts.st_mode)) continue;
    const bool may = ::access(path.c_str(), R_OK | W_OK) == 0;
    files.push_back({device, may ? FileAccess::opens : access_of(errno), mode_text(path)});
  }
  const auto answer = ask_child(
      [&] {
        std::string said;
        for (const DeviceFile& file : files) {
          const bool is_control = file.path.ends_with("/nvidiactl");
          // Opening the KFD makes this process one of its own, and render nodes wake up their card.
          const bool is_nvidias = file.path.starts_with("/dev/nvidia");
          if (file.access != FileAccess::opens || !is_nvidias ||
              (which == OpenWhich::control && !is_control)) {
            said += "-1\n";
            continue;
          }
          const int fd = ::open((root + file.path).c_str(), O_RDWR | O_NONBLOCK | O_CLOEXEC);
          said += std::to_string(fd >= 0 ? 0 : errno) + "\n";
        }
        return write_all(1, said) ? 0 : 1;
      },
      clock, std::chrono::seconds(3));
  if (!answer) return files;
  const auto lines = split(answer->out, '\n');
  for (std::size_t i = 0; i < files.size() && i < lines.size(); ++i) {
    const auto error = parse_unsigned(lines[i]);
    if (error) files[i].access = access_of(static_cast<int>(*error));
  }
  return files;
}

}  // namespace berth
