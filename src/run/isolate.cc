#include "run/isolate.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <map>
#include <optional>
#include <set>

#include "base/fd.h"
#include "base/process.h"
#include "base/text.h"
#include "run/command_words.h"
#include "run/device_scope.h"
#include "snapshot/device_kind.h"
#include "snapshot/questions.h"

namespace berth {

namespace {

// --- the kernel's words (include/uapi/linux/landlock.h, Linux 6.10) ---------------------------

namespace right {
constexpr std::uint64_t write_file = 1U << 1;
constexpr std::uint64_t read_file = 1U << 2;
constexpr std::uint64_t make_char = 1U << 6;
constexpr std::uint64_t make_block = 1U << 11;
constexpr std::uint64_t refer = 1U << 13;      // from version 2 on
constexpr std::uint64_t ioctl_dev = 1U << 15;  // from version 5 on
}  // namespace right

constexpr int version_with_refer = 2;
constexpr unsigned ask_version = 1U << 0;
constexpr int rule_path_beneath = 1;

struct RulesetAttributes {
  std::uint64_t handled_access_fs;
};
struct [[gnu::packed]] PathBeneath {
  std::uint64_t allowed_access;
  std::int32_t parent_fd;
};
static_assert(sizeof(PathBeneath) == 12);

int create_ruleset(const RulesetAttributes* attributes, unsigned flags) {
  const std::size_t size = attributes == nullptr ? 0 : sizeof *attributes;
  return static_cast<int>(::syscall(SYS_landlock_create_ruleset, attributes, size, flags));
}

// --- which file is which card's ---------------------------------------------------------------

/// Folders of /dev in which each file is looked at by itself.
std::set<std::string_view> folders_of_cards() {
  std::set<std::string_view> folders;
  for (const std::string_view file : numbered_files()) {
    folders.insert(file.substr(0, file.rfind('/')));
  }
  folders.erase("/dev");
  return folders;
}

bool is_a_cards_file(std::string_view path) {
  return std::ranges::any_of(numbered_files(), [&](std::string_view beginning) {
    return path.starts_with(beginning) && parse_unsigned(path.substr(beginning.size()));
  });
}

/// The kind whose parts have files of their own.
const DeviceKindFacts& kind_with_part_files() {
  return *std::ranges::find_if(device_kinds(),
                               [](const DeviceKindFacts& one) { return !one.part_table.empty(); });
}

/// The file for a right of the MIG table: "gpu0/gi1/access".
std::optional<std::string> instance_file_of(std::string_view name, const IsolationFacts& facts) {
  for (const std::string_view line : split(facts.instance_files, '\n')) {
    const auto words = split(trimmed(line), ' ');
    if (words.size() == 2 && words[0] == name && parse_unsigned(words[1])) {
      return std::string(kind_with_part_files().part_file) + std::string(words[1]);
    }
  }
  return std::nullopt;
}

std::unexpected<Error> unknown_file(const Device& device) {
  return fail(ErrorCode::unsupported,
              "cannot isolate the job: which device file is {}'s is not known. Leave --isolate "
              "out, or give the job another device with --except",
              printable(device.id.text()));
}

/// What the job needs of a device: its card's file, those of its display, those of its instance.
Result<std::vector<std::string>> files_of(const Device& device, const Device& card,
                                          const IsolationFacts& facts) {
  const DeviceKindFacts& kind = facts_of(card.kind);
  const auto& minor = card.minor_number.get();
  if (kind.file_maker.empty()) {
    return fail(ErrorCode::unsupported,
                "cannot isolate the job: {}'s cards cannot be isolated yet. Leave --isolate out",
                kind.vendor);
  }
  if (!minor) return unknown_file(device);
  std::vector<std::string> files(kind.further_files.begin(), kind.further_files.end());
  files.push_back(std::string(kind.card_file) + std::to_string(*minor));
  if (device.parent) {
    if (!device.partition) return unknown_file(device);
    const std::string instance = "gpu" + std::to_string(*minor) + "/gi" +
                                 std::to_string(device.partition->gpu_instance) + "/";
    const auto of_gpu = instance_file_of(instance + "access", facts);
    const auto of_compute = instance_file_of(
        instance + "ci" + std::to_string(device.partition->compute_instance) + "/access", facts);
    if (!of_gpu || !of_compute) return unknown_file(device);
    files.push_back(*of_gpu);
    files.push_back(*of_compute);
  }
  for (const std::string& file : files) {
    if (std::ranges::find(facts.files, file) != facts.files.end()) continue;
    return fail(ErrorCode::unsupported,
                "cannot isolate the job: {} is not there, and inside nobody could make it. Any "
                "CUDA program outside makes it, or: {}{}",
                file, kind.file_maker, *minor);
  }
  for (const auto& [file, address] : facts.display_files) {
    const auto known = normal_pci_address(address);
    if (known && card.pci_address.get() == known) files.push_back(file);
  }
  return files;
}

}  // namespace

// --- deciding ---------------------------------------------------------------------------------

namespace {
Sentence no_landlock(int error) {
  const std::string said = std::strerror(error);
  return error == EOPNOTSUPP
             ? sentence(
                   "the kernel's Landlock is switched off ({}); its administrator adds landlock to "
                   "lsm= of the kernel's command line",
                   said)
         : error == ENOSYS
             ? sentence("the kernel has no Landlock ({}); Linux 5.19 and newer have what is needed",
                        said)
             : sentence(
                   "the kernel does not let this process use Landlock ({}); a container's seccomp "
                   "profile may forbid it",
                   said);
}

Result<void> may_be_done(const IsolationFacts& facts) {
  if (facts.landlock >= version_with_refer || !facts.systemd_run.empty()) return {};
  Sentence why = facts.landlock == 0
                     ? no_landlock(facts.landlock_error)
                     : sentence(
                           "this kernel's Landlock (version {}) would keep it from moving files "
                           "between folders, as checkpoints are. Linux 5.19 and newer do not",
                           facts.landlock);
  if (facts.is_privileged) {
    why =
        sentence("{}; nor does a systemd run here, whose device rules could hold root's job", why);
  }
  return fail(ErrorCode::unsupported, "cannot isolate the job: {}", why);
}
}  // namespace

std::string_view means_of(const IsolationFacts& facts) {
  const bool is_scope = facts.landlock < version_with_refer && !facts.systemd_run.empty();
  return is_scope ? by_systemd : by_landlock;
}

Result<IsolationPlan> plan_isolation(const std::vector<DeviceId>& given, const Snapshot& snapshot,
                                     const IsolationFacts& facts) {
  if (auto able = may_be_done(facts); !able) return std::unexpected(std::move(able).error());
  IsolationPlan plan{.landlock = facts.landlock, .is_privileged = facts.is_privileged};
  if (means_of(facts) == by_systemd) plan.systemd_run = facts.systemd_run;
  std::set<std::string, std::less<>> own;
  for (const DeviceId& id : given) {
    const Device* device = find_device(id, snapshot);
    const Device* card =
        device != nullptr && device->parent ? find_device(*device->parent, snapshot) : device;
    if (device == nullptr || card == nullptr) {
      return fail(ErrorCode::unsupported,
                  "cannot isolate the job: nothing is known of its device {}", id.text());
    }
    auto files = files_of(*device, *card, facts);
    if (!files) return std::unexpected(std::move(files).error());
    own.insert(files->begin(), files->end());
  }
  // Looking at instances opens none of them.
  const auto monitor = instance_file_of("monitor", facts);
  const auto folders = folders_of_cards();
  for (const std::string& file : facts.files) {
    if (file == "/dev" || folders.contains(file)) continue;
    const bool is_closed = is_a_cards_file(file) && !own.contains(file) && file != monitor;
    if (!own.contains(file)) (is_closed ? plan.closed : plan.open).push_back(file);
  }
  plan.own.assign(own.begin(), own.end());
  return plan;
}

Snapshot seen_inside(const std::vector<DeviceId>& given, const Snapshot& snapshot) {
  Snapshot inside = snapshot;
  const auto is_there = [&](const Device& device) {
    return std::ranges::any_of(given, [&](const DeviceId& id) {
      const Device* one = find_device(id, snapshot);
      return device.id == id || (one != nullptr && one->parent == device.id);
    });
  };
  std::erase_if(inside.devices, [&](const Device& device) { return !is_there(device); });
  std::map<Runtime, std::vector<Device*>> numbered;
  for (Device& device : inside.devices) {
    if (!device.parent && runtime_number(device)) {
      numbered[facts_of(device.kind).runtime].push_back(&device);
    }
  }
  for (auto& [runtime, cards] : numbered) {
    std::ranges::stable_sort(cards, {}, [](const Device* card) { return *runtime_number(*card); });
    for (std::size_t at = 0; at < cards.size(); ++at) {
      cards[at]->runtime_index = static_cast<int>(at);
    }
  }
  return inside;
}

Result<void> fits_isolation(const std::vector<std::string>& command, bool is_privileged) {
  constexpr std::array<std::string_view, 4> wants_rights = {"sudo", "doas", "pkexec", "su"};
  for (const std::string& name : programs_started_by(command)) {
    if (starts_elsewhere(name) != nullptr) {
      return fail(ErrorCode::unsupported,
                  "cannot isolate the job: what {} starts would be outside, or could not start. "
                  "Leave --isolate out, and name the devices to {} itself",
                  name, name);
    }
    if (!is_privileged && std::ranges::find(wants_rights, name) != wants_rights.end()) {
      return fail(ErrorCode::unsupported,
                  "cannot isolate the job: {} gives nobody other rights inside; write: {} berth "
                  "run --isolate -- …",
                  name, name);
    }
  }
  return {};
}

std::vector<Sentence> costs_of(const IsolationPlan& plan) {
  if (!plan.systemd_run.empty()) {
    return {sentence("device files made later stay closed"),
            sentence("a process that root moves to another control group is outside")};
  }
  std::vector<Sentence> costs;
  if (!plan.is_privileged) {
    costs.push_back(sentence("sudo and other setuid programs gain no rights inside"));
  }
  costs.push_back(sentence("containers cannot be started inside, nor anything mounted"));
  if (plan.landlock < version_with_ioctl) {
    costs.push_back(
        sentence("this kernel's Landlock (version {}) keeps out programs as they are. One that is "
                 "made for it passes (Linux 6.10 keeps it out, too)",
                 plan.landlock));
  }
  costs.push_back(
      sentence("what is mounted directly below / later, and device files made later, stay closed"));
  return costs;
}

// --- learning ---------------------------------------------------------------------------------

namespace {
void add_files_of(const std::string& folder, const std::string& root,
                  std::vector<std::string>& files) {
  const auto names = list_directory(root + folder);
  if (!names) return;
  for (const std::string& name : *names) {
    files.push_back((folder == "/" ? "" : folder) + "/" + name);
  }
}
}  // namespace

IsolationFacts gather_isolation_facts(const std::string& root) {
  IsolationFacts facts{.is_privileged = ::geteuid() == 0};
  if (facts.is_privileged) facts.systemd_run = systemd_run_in(root);
  const int version = create_ruleset(nullptr, ask_version);
  if (version < 0) facts.landlock_error = errno;
  facts.landlock = std::max(version, 0);
  add_files_of("/", root, facts.files);
  add_files_of("/dev", root, facts.files);
  for (const std::string_view folder : folders_of_cards()) {
    add_files_of(std::string(folder), root, facts.files);
  }
  const std::string display = "/sys/class/drm/";
  if (const auto names = list_directory(root + display)) {
    for (const std::string& name : *names) {
      const auto card = read_link(root + display + name + "/device");
      if (card)
        facts.display_files.emplace_back("/dev/dri/" + name, card->substr(card->rfind('/') + 1));
    }
  }
  facts.instance_files =
      read_proc_file(root + std::string(kind_with_part_files().part_table), 1 << 20).value_or("");
  return facts;
}

// --- doing ------------------------------------------------------------------------------------

namespace {
Error cannot_isolate(std::string_view attempted, int error) {
  return system_error(error, "isolate the job: {}", attempted);
}

/// Nothing: it is a link, which leads to what has a rule of its own, or it has gone meanwhile.
Result<void> allow(int ruleset, const std::string& path, int version, bool is_own) {
  const Fd file(::open(path.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
  if (!file.is_open()) {
    if (!is_own) return {};  // what cannot be opened even so stays closed
    return std::unexpected(cannot_isolate("open " + path, errno));
  }
  struct stat facts{};
  if (::fstat(file.get(), &facts) != 0) {
    if (!is_own) return {};
    return std::unexpected(cannot_isolate("examine " + path, errno));
  }
  if (S_ISLNK(facts.st_mode)) return {};
  PathBeneath rule{.allowed_access = right::read_file | right::write_file, .parent_fd = file.get()};
  if (S_ISDIR(facts.st_mode)) rule.allowed_access |= right::refer;
  // Nobody drives a card through a device file that lies elsewhere.
  if (version >= version_with_ioctl && path.starts_with("/dev/")) {
    rule.allowed_access |= right::ioctl_dev;
  }
  if (::syscall(SYS_landlock_add_rule, ruleset, rule_path_beneath, &rule, 0U) != 0) {
    return std::unexpected(cannot_isolate("allow " + path, errno));
  }
  return {};
}
}  // namespace

Result<void> restrict_to(const IsolationPlan& plan) {
  // A new device file, of any card, is given to nobody. A descriptor that was opened neither to
  // read nor to write still allows ioctl().
  RulesetAttributes handled{right::read_file | right::write_file | right::make_char |
                            right::make_block | right::refer};
  if (plan.landlock >= version_with_ioctl) handled.handled_access_fs |= right::ioctl_dev;
  const Fd ruleset(create_ruleset(&handled, 0));
  if (!ruleset.is_open()) return std::unexpected(cannot_isolate("make the rules", errno));
  for (const auto* paths : {&plan.open, &plan.own}) {
    for (const std::string& path : *paths) {
      auto allowed = allow(ruleset.get(), path, plan.landlock, paths == &plan.own);
      if (!allowed) return allowed;
    }
  }
  const auto restrict = [&] {
    return ::syscall(SYS_landlock_restrict_self, ruleset.get(), 0U) == 0;
  };
  // Root's jobs keep their setuid programs where the kernel lets it restrict itself as it is.
  if (plan.is_privileged&& restrict()) return {};
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) {
    return std::unexpected(cannot_isolate("give up new privileges", errno));
  }
  if (restrict()) return {};
  if (errno == E2BIG) {
    return fail(
        ErrorCode::unsupported,
        "cannot isolate the job: it is inside as many isolated jobs as Landlock can count (16)");
  }
  return std::unexpected(cannot_isolate("restrict the process", errno));
}

Result<void> try_isolation(const IsolationFacts& facts, Clock& clock) {
  const auto plan = plan_isolation({}, {}, facts);
  if (!plan) return std::unexpected(plan.error());
  if (!plan->systemd_run.empty()) return try_device_scope(plan->systemd_run, clock);
  const auto answer = ask_child(
      [&] {
        const auto restricted = restrict_to(*plan);
        if (restricted) return 0;
        (void)write_all(1, restricted.error().message());
        return 1;
      },
      clock, std::chrono::seconds(10));
  if (!answer) return std::unexpected(answer.error());
  if (answer->exit == Exit{}) return {};
  if (!answer->exit) {
    return fail(ErrorCode::unsupported,
                "cannot isolate the job: a file system mounted directly below / does not answer; "
                "see which: `ls -d /*`");
  }
  return fail(ErrorCode::unsupported, answer->out.empty()
                                          ? sentence("cannot isolate the job: the process that "
                                                     "tried it was killed")
                                          : Sentence(answer->out));
}

Result<IsolationFacts> facts_to_isolate_by(const std::vector<std::string>& command,
                                           bool is_simulated, Clock& clock) {
  if (is_simulated) {
    return fail(ErrorCode::unsupported,
                "cannot isolate the job: a simulated server has no device files; leave --isolate "
                "out, or --sim");
  }
  IsolationFacts facts = gather_isolation_facts();
  auto able = fits_isolation(command, facts.is_privileged);
  if (able) able = try_isolation(facts, clock);
  if (!able) return std::unexpected(std::move(able).error());
  return facts;
}

}  // namespace berth
