#include "lib/helper_client.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sched.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <optional>

#include "base/fd.h"
#include "base/process.h"
#include "base/text.h"
#include "snapshot/device_kind_rows.h"

extern char** environ;

namespace berth::lib {

namespace {

/// The one protocol that this library speaks.
constexpr int protocol = 1;
constexpr int socket_of_helper = 3;
constexpr std::size_t longest_message = 64 << 20;

// --- which program -------------------------------------------------------------------------------

bool is_program(const std::string& path) {
  struct stat facts{};
  return ::stat(path.c_str(), &facts) == 0 && S_ISREG(facts.st_mode) &&
         ::access(path.c_str(), X_OK) == 0;
}

/// Without links, which somebody could turn elsewhere; empty: there is no such file.
std::string resolved(const std::string& path) {
  char* real = ::realpath(path.c_str(), nullptr);
  const std::string found = real == nullptr ? "" : real;
  ::free(real);
  return found;
}

/// The folder that this library's file is in; empty: it cannot be told.
std::string own_folder() {
  Dl_info facts{};
  if (::dladdr(reinterpret_cast<const void*>(&find_program), &facts) == 0) return {};
  const std::string path = facts.dli_fname == nullptr ? "" : facts.dli_fname;
  const std::size_t slash = path.rfind('/');
  return slash == std::string::npos ? std::string() : path.substr(0, slash);
}

std::vector<std::string> candidates() {
  std::vector<std::string> all;
  if (const std::string folder = own_folder(); !folder.empty()) {
    for (const char* place : {"/berth", "/../_bin/berth", "/../bin/berth", "/../../bin/berth"}) {
      all.push_back(folder + place);
    }
  }
  const char* path = ::secure_getenv("PATH");
  for (const std::string_view folder : split(path == nullptr ? default_search_path : path, ':')) {
    // A relative folder means another program in each working directory.
    if (folder.starts_with('/')) all.push_back(std::string(folder) + "/berth");
  }
  return all;
}

// --- starting it ---------------------------------------------------------------------------------

/// What a C library structure needs taken down.
class SpawnTerms {
 public:
  SpawnTerms() {
    ::posix_spawn_file_actions_init(&actions);
    ::posix_spawnattr_init(&attributes);
  }
  SpawnTerms(const SpawnTerms&) = delete;
  SpawnTerms& operator=(const SpawnTerms&) = delete;
  ~SpawnTerms() {
    ::posix_spawn_file_actions_destroy(&actions);
    ::posix_spawnattr_destroy(&attributes);
  }
  posix_spawn_file_actions_t actions{};
  posix_spawnattr_t attributes{};
};

/// None of what the host has open, ignores or blocks is the helper's.
void isolate(SpawnTerms& terms, int socket) {
  ::posix_spawn_file_actions_adddup2(&terms.actions, socket, socket_of_helper);
  ::posix_spawn_file_actions_addopen(&terms.actions, 0, "/dev/null", O_RDWR, 0);
  ::posix_spawn_file_actions_addopen(&terms.actions, 1, "/dev/null", O_RDWR, 0);
  // What it complains of before it greets is the answer.
  ::posix_spawn_file_actions_adddup2(&terms.actions, socket_of_helper, 2);
  ::posix_spawn_file_actions_addclosefrom_np(&terms.actions, socket_of_helper + 1);
  sigset_t all{};
  sigset_t none{};
  ::sigfillset(&all);
  ::sigemptyset(&none);
  ::posix_spawnattr_setsigdefault(&terms.attributes, &all);
  ::posix_spawnattr_setsigmask(&terms.attributes, &none);
  ::posix_spawnattr_setflags(&terms.attributes,
                             POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK);
}

std::vector<char*> pointers(std::vector<std::string>& words) {
  std::vector<char*> all;
  for (std::string& word : words) all.push_back(word.data());
  all.push_back(nullptr);
  return all;
}

std::vector<std::string> environment_with(const std::vector<std::string>& variables) {
  std::vector<std::string> all = variables;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view one = *entry;
    const std::string_view name = one.substr(0, one.find('=') + 1);
    const bool is_replaced = std::any_of(variables.begin(), variables.end(),
                                         [&](const auto& own) { return own.starts_with(name); });
    if (!is_replaced) all.emplace_back(one);
  }
  return all;
}

/// What the process between the host and the helper is to start, and what it then knows.
struct Between {
  const char* program;
  char* const* words;
  char* const* environment;
  const SpawnTerms& terms;
  int failed = 0;
  pid_t helper = 0;
  Fd life = {};

  static int start(void* given) {
    Between& all = *static_cast<Between*>(given);
    all.failed = ::posix_spawn(&all.helper, all.program, &all.terms.actions, &all.terms.attributes,
                               all.words, all.environment);
    if (all.failed != 0) return 0;
    if (auto life = open_pidfd(all.helper)) all.life = *std::move(life);
    return 0;
  }
};

/// In the host's memory and with its descriptors, as long as the host's thread stands still. It
/// ends without a signal, and only who asks for such children meets it. With it the helper loses
/// its parent: who waits for any child of the host never meets that one either.
int start_between(Between& between) {
  constexpr std::size_t stack_size = 64 << 10;
  constexpr std::uintptr_t stack_alignment = 16;
  std::vector<char> stack(stack_size);
  const auto top = reinterpret_cast<std::uintptr_t>(stack.data() + stack.size());
  // No handler of the host's is to run there.
  sigset_t all{};
  sigset_t before{};
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_BLOCK, &all, &before);
  const pid_t child = ::clone(Between::start, reinterpret_cast<void*>(top - top % stack_alignment),
                              CLONE_VM | CLONE_VFORK | CLONE_FILES, &between);
  const int why = errno;
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (child < 0) return why;
  while (::waitpid(child, nullptr, static_cast<int>(__WCLONE)) < 0 && errno == EINTR) {
  }
  if (between.failed == 0 && between.helper == 0) return ECHILD;  // somebody has killed it
  return between.failed;
}

/// A descriptor of its life; none: the kernel has no such thing.
Result<Fd> spawn(const HelperPlace& place, int socket) {
  SpawnTerms terms;
  isolate(terms, socket);
  std::vector<std::string> words = {place.program, "helper"};
  words.insert(words.end(), place.options.begin(), place.options.end());
  words.insert(words.end(), {"--socket", std::to_string(socket_of_helper)});
  std::vector<std::string> environment = environment_with(place.variables);
  const auto word_list = pointers(words);
  const auto variable_list = pointers(environment);
  Between between{.program = place.program.c_str(),
                  .words = word_list.data(),
                  .environment = variable_list.data(),
                  .terms = terms};
  if (const int failed = start_between(between); failed != 0) {
    return fail_system(failed, "start {}", place.program);
  }
  return above_streams(std::move(between.life));
}

Error ended(const std::string& program) {
  return Error(ErrorCode::io, "the helper process of {} has ended; the next call starts another",
               program);
}

Error no_helper(const std::string& program) {
  return Error(ErrorCode::unsupported,
               "starting the helper: {} ended and did not answer as one. It is no berth, or older "
               "than this library: install both from one release",
               program);
}

std::string beginning_of(const Message& message) {
  constexpr std::size_t longest_told = 1000;
  return printable(message.line.substr(0, longest_told));
}

/// What is no message of a helper's becomes an error, which says so.
Message message_of(LineSocket::Line line, const std::string& program) {
  constexpr std::string_view member = "\"look\":";
  Message message{.json = {},
                  .look = {},
                  .line = std::move(line.text),
                  .descriptor = std::move(line.descriptor)};
  const std::size_t at = message.line.find(member);
  const bool has_look = at != std::string::npos && message.line.ends_with('}');
  if (has_look) {
    std::string look = message.line.substr(at + member.size());
    look.pop_back();
    message.look = ParsedLook::read(std::move(look));
    message.line.resize(at);
    if (message.line.ends_with(',')) message.line.pop_back();
    message.line += '}';
  }
  message.json = parse_json(message.line).value_or(Json());
  if (!message.json.is_object() || (has_look && !message.look)) {
    const std::string why = fmt::format(
        "hearing the helper: {} says what no berth does: {}; install both from one "
        "release",
        program, beginning_of(message));
    message.json = {{"error", {{"code", "unsupported"}, {"message", why}}}};
  }
  return message;
}

}  // namespace

Fd above_streams(Fd fd) {
  constexpr int first_descriptor = 3;
  if (!fd.is_open() || fd.get() >= first_descriptor) return fd;
  return Fd(::fcntl(fd.get(), F_DUPFD_CLOEXEC, first_descriptor));
}

Result<std::string> find_program(const std::string& named) {
  std::vector<std::string> places;
  if (!named.empty()) {
    places = {named};
  } else if (const char* helper = ::secure_getenv("BERTH_HELPER"); helper && *helper) {
    places = {helper};
  } else {
    places = candidates();
  }
  std::string refused;
  for (const std::string& path : places) {
    if (!is_program(path)) continue;
    if (::geteuid() != 0) return path;
    if (std::string real = resolved(path); !real.empty() && is_roots_alone(real)) return real;
    if (refused.empty()) refused = path;
  }
  if (!refused.empty()) {
    return fail(
        ErrorCode::no_permission,
        "looking for the berth program: {} could be changed by others than root, and root does not "
        "run it. Install berth as root, or make the file and the folders above it root's alone",
        refused);
  }
  if (places.size() == 1) {
    return fail(ErrorCode::not_found, "looking for the berth program: {} is no program",
                places.front());
  }
  return fail(ErrorCode::not_found,
              "looking for the berth program: it is neither beside the library nor on PATH. "
              "Install berth, or name the program in BERTH_HELPER");
}

HelperClient::HelperClient(Fd socket, Fd life, std::string program)
    : socket_(std::move(socket)),
      life_(std::move(life)),
      program_(std::move(program)),
      owner_(::getpid()) {}

HelperClient::~HelperClient() {
  if (!is_ours() || socket_.descriptor() < 0) return;
  socket_.shut_down();
  // What never said that it is a helper need not notice.
  if (!has_greeted_ && life_.is_open()) {
    (void)::syscall(SYS_pidfd_send_signal, life_.get(), SIGKILL, nullptr, 0);
  }
  // A lease that came and was not taken would lie in that copy.
  while (true) {
    const auto left = socket_.receive(longest_message);
    if (!left || !*left) return;
  }
}

bool HelperClient::is_ours() const { return ::getpid() == owner_; }

Result<HelperClient> HelperClient::start(const HelperPlace& place) {
  auto ends = LineSocket::make_ends();
  if (!ends) return std::unexpected(std::move(ends).error());
  auto life = spawn(place, ends->second.get());
  if (!life) return std::unexpected(std::move(life).error());
  return HelperClient(std::move(ends->first), *std::move(life), place.program);
}

Result<void> HelperClient::hear_greeting(const Message& greeting) const {
  const auto number = [&](const char* key) {
    const auto found = greeting.json.find(key);
    const bool is_there = found != greeting.json.end() && found->is_number_integer();
    return is_there ? std::optional(found->get<std::int64_t>()) : std::nullopt;
  };
  const auto newest = number("berth_helper");
  if (!newest) {
    const std::string said = beginning_of(greeting);
    // A helper's complaint about the request. Any other text comes from another program.
    if (said.starts_with("berth: helper:")) {
      return fail(ErrorCode::invalid, "starting the helper: {} says: {}", program_, said);
    }
    return fail(ErrorCode::unsupported,
                "starting the helper: {} says: {}; it is no berth, or older than this library: "
                "install both from one release",
                program_, said);
  }
  const std::int64_t oldest = number("oldest").value_or(*newest);
  if (oldest <= protocol && protocol <= *newest) return {};
  const auto version = greeting.json.find("version");
  const bool is_told = version != greeting.json.end() && version->is_string();
  return fail(ErrorCode::unsupported,
              "starting the helper: {} is of berth {} and speaks protocols {} to {}. This library "
              "is of berth {} and speaks {}, so the {} is too old: install both from one release",
              program_, is_told ? printable(version->get<std::string>()) : "?", oldest, *newest,
              BERTH_VERSION, protocol,
              protocol < oldest ? sentence("library") : sentence("program"));
}

Result<void> HelperClient::ask(const Json& question) {
  Json all = question;
  all["protocol"] = protocol;
  if (socket_.send(json_line(all))) return {};
  if (!has_greeted_) return {};  // receive() has its last words
  return std::unexpected(ended(program_));
}

Result<std::optional<Message>> HelperClient::receive() {
  while (true) {
    auto line = socket_.receive(longest_message);
    if (!line && has_greeted_) return std::unexpected(ended(program_));
    if (!line) return std::unexpected(no_helper(program_));
    if (!*line) return std::optional<Message>();
    auto message = message_of(**std::move(line), program_);
    if (has_greeted_) return std::optional(std::move(message));
    if (auto heard = hear_greeting(message); !heard) {
      return std::unexpected(std::move(heard).error());
    }
    has_greeted_ = true;
  }
}

Json own_variables() {
  Json all = Json::object();
  const auto tell = [&](const char* name) {
    const char* value = std::getenv(name);
    all[name] = value == nullptr ? Json() : Json(value);
  };
  for (const std::string_view name : told_variables) tell(name.data());
  tell("BERTH_LEASE");
  tell("PYTORCH_NVML_BASED_CUDA_CHECK");
  return all;
}

}  // namespace berth::lib
