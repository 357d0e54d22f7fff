#include "run/container/command.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>

#include "base/text.h"

namespace berth {

namespace {

struct OptionTable {
  std::string_view switches;  // names between blanks; a letter behind a comma
  std::string_view values;
};

/// The options of `run`, as docker 20.10 to 28.2, podman 4.3 to 5.4 and nerdctl 2.2 have them. None
/// is a switch here and wants a value there. The names that --help does not show ("net") are in it,
/// too.
constexpr OptionTable run_options = {
    .switches =
        " detach,d disable-content-trust env-host help http-proxy init interactive,i "
        "no-healthcheck "
        "no-hostname no-hosts oom-kill-disable passwd privileged publish-all,P quiet,q read-only "
        "read-only-tmpfs replace rm rmi rootfs sig-proxy tls-verify tty,t unsetenv-all "
        "use-api-socket ",
    .values =
        " add-host annotation arch attach,a authfile blkio-weight blkio-weight-device cap-add "
        "cap-drop cert-dir cgroup-conf cgroup-parent cgroupns cgroups chrootdirs cidfile "
        "conmon-pidfile cosign-key cpu-count cpu-percent cpu-period cpu-quota cpu-rt-period "
        "cpu-rt-runtime cpu-shares,c cpus cpuset-cpus cpuset-mems creds decryption-key detach-keys "
        "device device-cgroup-rule device-read-bps device-read-iops device-write-bps "
        "device-write-iops dns dns-opt dns-option dns-search domainname entrypoint env,e env-file "
        "env-merge expose gidmap gpus group-add group-entry health-cmd health-interval "
        "health-log-destination health-max-log-count health-max-log-size health-on-failure "
        "health-retries health-start-interval health-start-period health-startup-cmd "
        "health-startup-interval health-startup-retries health-startup-success "
        "health-startup-timeout health-timeout hostname,h hostuser image-volume init-binary "
        "init-path io-maxbandwidth io-maxiops ip ip6 ipc ipfs-address isolation kernel-memory "
        "label,l label-file link link-local-ip log-driver log-opt mac-address memory,m "
        "memory-reservation memory-swap memory-swappiness mount name net net-alias network "
        "network-alias oom-score-adj os passwd-entry personality pid pidfile pids-limit platform "
        "pod pod-id-file preserve-fd preserve-fds publish,p pull rdt-class requires restart retry "
        "retry-delay runtime sdnotify seccomp-policy secret security-opt shm-size shm-size-systemd "
        "stop-signal stop-timeout storage-opt subgidname subuidname sysctl systemd timeout tmpfs "
        "tz uidmap ulimit umask unsetenv user,u userns uts variant verify volume,v volume-driver "
        "volumes-from workdir,w "};

/// Before `run`.
constexpr OptionTable engine_options = {
    .switches =
        " debug,D debug-full experimental help insecure-registry kube-hide-dupe noout remote,r "
        "syslog tls tlsverify transient-store version,v ",
    .values =
        " address,a bridge-ip cdi-spec-dirs cgroup-manager cni-netconfpath cni-path config conmon "
        "data-root default-mounts-file events-backend global-dns global-dns-opts "
        "global-dns-search host,H host-gateway-ip hooks-dir hosts-dir identity imagestore "
        "log-level module network-cmd-path network-config-dir out root runroot runtime "
        "runtime-flag snapshotter ssh storage-driver storage-opt tlscacert tlscert tlskey tmpdir "
        "url userns-remap volumepath "};

/// What one letter says before `run` depends on the engine.
struct EngineLetter {
  std::string_view engine;
  char letter;
  std::string_view name;
};
constexpr std::array<EngineLetter, 6> engine_letters = {{{"docker", 'c', "context"},
                                                         {"podman", 'c', "connection"},
                                                         {"docker", 'l', "log-level"},
                                                         {"nerdctl", 'n', "namespace"},
                                                         {"nerdctl", 'H', "address"},
                                                         {"nerdctl", 'l', "log-level"}}};
constexpr std::string_view engine_values_of_one = " context connection namespace ";

bool names(std::string_view table, std::string_view name) {
  const std::string wanted = " " + std::string(name);
  for (std::size_t at = table.find(wanted); at != table.npos; at = table.find(wanted, at + 1)) {
    const char next = table.at(at + wanted.size());
    if (next == ' ' || next == ',') return true;
  }
  return false;
}

std::string long_name(std::string_view table, char letter) {
  const std::string wanted{',', letter, ' '};
  const std::size_t at = table.find(wanted);
  if (at == table.npos) return {};
  const std::size_t start = table.rfind(' ', at) + 1;
  return std::string(table.substr(start, at - start));
}

enum class OptionsOf { engine, run };

std::optional<bool> takes_value(OptionsOf part, std::string_view name) {
  const OptionTable& table = part == OptionsOf::run ? run_options : engine_options;
  if (names(table.switches, name)) return false;
  if (names(table.values, name)) return true;
  if (part == OptionsOf::engine && names(engine_values_of_one, name)) return true;
  return std::nullopt;
}

std::string name_of_letter(OptionsOf part, std::string_view engine, char letter) {
  if (part == OptionsOf::engine) {
    for (const EngineLetter& one : engine_letters) {
      if (one.engine == engine && one.letter == letter) return std::string(one.name);
    }
  }
  const OptionTable& table = part == OptionsOf::run ? run_options : engine_options;
  std::string name = long_name(table.switches, letter);
  return name.empty() ? long_name(table.values, letter) : name;
}

Error unknown_option(std::string_view engine, std::string_view word, std::string_view as) {
  return Error(
      ErrorCode::invalid,
      "berth does not know {}'s option {}, and so not whether the next word is its value: write {}",
      engine, printable(word), printable(as));
}

/// The options from `at` on, up to the first word that is none.
class OptionReader {
 public:
  OptionReader(OptionsOf part, ContainerCommand& command, std::size_t at)
      : part_(part), command_(command), at_(at) {}

  /// Where the first word stands that is no option.
  Result<std::size_t> read() {
    const auto& words = command_.words;
    for (; at_ < words.size(); ++at_) {
      const std::string_view word = words[at_];
      if (word == "--") return at_ + 1;
      if (!word.starts_with('-') || word == "-") return at_;
      const auto read = word.starts_with("--") ? read_long(word) : read_letters(word);
      if (!read) return std::unexpected(read.error());
    }
    return std::min(at_, words.size());
  }

 private:
  void add(ContainerOption option) {
    if (option.takes_next) {
      const bool is_there = at_ + 1 < command_.words.size();
      option.value = is_there ? command_.words[at_ + 1] : std::string();
    }
    const bool skips = option.takes_next;
    (part_ == OptionsOf::run ? command_.options : command_.engine_options)
        .push_back(std::move(option));
    if (skips) ++at_;
  }

  Result<void> read_long(std::string_view word) {
    const std::size_t equals = word.find('=');
    const std::string name(word.substr(2, equals == word.npos ? word.npos : equals - 2));
    ContainerOption option{.name = name, .word = at_};
    if (equals != word.npos) {
      option.value = word.substr(equals + 1);
      add(std::move(option));
      return {};
    }
    const auto value = takes_value(part_, name);
    if (!value) {
      return std::unexpected(unknown_option(command_.engine, word, std::string(word) + "=VALUE"));
    }
    option.takes_next = *value;
    if (!*value) option.value = "true";
    add(std::move(option));
    return {};
  }

  /// "-it", "-p8888:8888", "-ite A=B", "-d=false"
  Result<void> read_letters(std::string_view word) {
    const std::size_t begin = at_;
    for (std::size_t i = 1; i < word.size(); ++i) {
      const std::string name = name_of_letter(part_, command_.engine, word[i]);
      const auto value = name.empty() ? std::nullopt : takes_value(part_, name);
      if (!value) {
        return std::unexpected(
            unknown_option(command_.engine, word, "--" + std::string("NAME=VALUE")));
      }
      ContainerOption option{.name = name, .word = begin, .letter = i};
      std::string_view rest = word.substr(i + 1);
      const bool has_equals = rest.starts_with('=');
      if (has_equals) rest.remove_prefix(1);
      if (*value || has_equals) {
        option.takes_next = *value && rest.empty() && !has_equals;
        option.value = rest;
        add(std::move(option));
        return {};
      }
      option.value = "true";
      add(std::move(option));
    }
    return {};
  }

  OptionsOf part_;
  ContainerCommand& command_;
  std::size_t at_;
};

bool is_engine(std::string_view name) {
  return name == "docker" || name == "podman" || name == "nerdctl";
}

}  // namespace

std::string ContainerOption::text(const std::vector<std::string>& words) const {
  std::string typed = words.at(word);
  if (letter != 0) typed = "-" + typed.substr(letter);
  if (takes_next && word + 1 < words.size()) typed += " " + words[word + 1];
  return typed;
}

const ContainerOption* ContainerCommand::find(std::string_view name) const {
  const auto last = std::find_if(options.rbegin(), options.rend(),
                                 [&](const ContainerOption& one) { return one.name == name; });
  return last == options.rend() ? nullptr : &*last;
}

bool ContainerCommand::has(std::string_view name) const {
  const ContainerOption* option = find(name);
  return option != nullptr && option->value != "false" && option->value != "0";
}

std::vector<std::string> ContainerCommand::engine_words() const {
  std::vector<std::string> before(words.begin(), words.begin() + static_cast<std::ptrdiff_t>(act));
  if (before.size() > 1 && before.back() == "container") before.pop_back();
  return before;
}

std::string ContainerCommand::image_name() const {
  return image < words.size() ? words[image] : std::string();
}

Result<std::optional<ContainerCommand>> read_container_command(
    const std::vector<std::string>& command) {
  const auto nothing = std::optional<ContainerCommand>();
  if (command.empty()) return nothing;
  const std::string name = command[0].substr(command[0].rfind('/') + 1);  // npos + 1 is 0
  if (!is_engine(name)) return nothing;
  ContainerCommand read{.engine = name, .words = command};
  auto at = OptionReader(OptionsOf::engine, read, 1).read();
  if (!at) return std::unexpected(std::move(at).error());
  if (*at < command.size() && command[*at] == "container") ++*at;
  if (*at >= command.size() || command[*at] != "run") return nothing;
  read.act = *at;
  const auto image = OptionReader(OptionsOf::run, read, read.act + 1).read();
  if (!image) return std::unexpected(image.error());
  read.image = *image;
  return std::optional(std::move(read));
}

std::vector<std::string> without_options(const ContainerCommand& command,
                                         const std::vector<const ContainerOption*>& options) {
  std::vector<std::string> words = command.words;
  std::set<std::size_t> gone;
  for (const ContainerOption* option : options) {
    if (option->takes_next && option->word + 1 < words.size()) gone.insert(option->word + 1);
    // In "-ite A=B" the letters before it stay.
    if (option->letter > 1) {
      words[option->word].resize(option->letter);
    } else {
      gone.insert(option->word);
    }
  }
  std::vector<std::string> left;
  for (std::size_t at = 0; at < words.size(); ++at) {
    if (!gone.contains(at)) left.push_back(words[at]);
  }
  return left;
}

}  // namespace berth
