#include "lib/helper_client.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>

#include "base/clock.h"
#include "base/process.h"
#include "base/text.h"

extern char** environ;

namespace berth::lib {

namespace {

constexpr int protocol = 1;
constexpr int socket_of_helper = 3;
constexpr Duration patience_at_start = std::chrono::seconds(10);
/// Between its forking and its end the first process does nothing.
constexpr Duration patience_for_its_end = std::chrono::seconds(1);
/// Ours nest to a tenth of that.
constexpr int deepest_message = 128;
constexpr std::size_t longest_message = 64 << 20;
constexpr std::size_t longest_complaint = 1000;

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

/// Whether nobody but root can put another program there.
bool is_roots_alone(std::string path) {
  while (true) {
    struct stat facts{};
    if (::lstat(path.empty() ? "/" : path.c_str(), &facts) != 0) return false;
    // In a sticky folder (/tmp) nobody else moves what is root's.
    const bool is_sticky = S_ISDIR(facts.st_mode) && (facts.st_mode & S_ISVTX) != 0;
    if (facts.st_uid != 0 || ((facts.st_mode & 0022U) != 0 && !is_sticky)) return false;
    if (path.empty()) return true;
    path.erase(path.rfind('/'));
  }
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
  for (const std::string_view folder :
       split(path == nullptr ? "/usr/local/bin:/usr/bin" : path, ':')) {
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

/// Its first process forks and ends: who waits for any child of the host never meets the helper.
Result<pid_t> spawn(const HelperPlace& place, int socket) {
  SpawnTerms terms;
  isolate(terms, socket);
  std::vector<std::string> words = {place.program, "helper"};
  words.insert(words.end(), place.options.begin(), place.options.end());
  words.insert(words.end(), {"--socket", std::to_string(socket_of_helper)});
  std::vector<std::string> environment = environment_with(place.variables);
  pid_t child = 0;
  const int failed = ::posix_spawn(&child, place.program.c_str(), &terms.actions, &terms.attributes,
                                   pointers(words).data(), pointers(environment).data());
  if (failed != 0) return fail_system("start " + place.program, failed);
  return child;
}

/// Whether the first process has left; somebody else may have waited for it already, or nobody
/// needs to (SIGCHLD ignored). One that does not leave is no berth, or somebody has stopped it.
bool has_left(pid_t child) {
  SystemClock clock;
  const Instant deadline = clock.now() + patience_for_its_end;
  const auto life = open_pidfd(child);
  while (life && clock.now() < deadline) {
    if (clock.wait_readable(life->get(), deadline)) break;
  }
  const pid_t waited = ::waitpid(child, nullptr, WNOHANG);
  return waited == child || (waited < 0 && errno == ECHILD);
}

/// Until it is waited for its number is nobody else's.
void end(pid_t child) {
  ::kill(child, SIGKILL);
  (void)has_left(child);
}

Error ended(const std::string& program) {
  return {ErrorCode::io, fmt::format("the helper process of {} has ended; the next call starts "
                                     "another",
                                     program)};
}

}  // namespace

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
        fmt::format("looking for the berth program: {} could be changed by others than root, "
                    "and root does not run it; install berth as root, or make the file and "
                    "the folders above it root's alone",
                    refused));
  }
  if (places.size() == 1) {
    return fail(ErrorCode::not_found,
                fmt::format("looking for the berth program: {} is no program", places.front()));
  }
  return fail(
      ErrorCode::not_found,
      "looking for the berth program: it is neither beside the library nor on PATH; install "
      "berth, or name the program in BERTH_HELPER");
}

HelperClient::HelperClient(Fd socket, std::string program)
    : socket_(std::move(socket)), program_(std::move(program)), owner_(::getpid()) {}

HelperClient::~HelperClient() {
  if (!is_ours() || socket_.descriptor() < 0) return;
  socket_.shut_down();
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
  const auto child = spawn(place, ends->second.get());
  if (!child) return std::unexpected(child.error());
  ends->second.close();
  HelperClient client(std::move(ends->first), place.program);
  const auto greeting = client.wait(SystemClock().now() + patience_at_start);
  if (!greeting || !has_left(*child)) {
    end(*child);
    return fail(ErrorCode::unsupported,
                fmt::format("starting the helper: {} did not answer as one; it is no berth, or "
                            "older than this library: install both from one release",
                            place.program));
  }
  if (const auto error = greeting->json.find("error"); error != greeting->json.end()) {
    const std::string said = error->value("message", "");
    // Of what the host asked for; anything else is said by another program.
    if (said.starts_with("berth: helper:")) {
      return fail(ErrorCode::invalid,
                  fmt::format("starting the helper: {} says: {}", place.program, said));
    }
    return fail(ErrorCode::unsupported,
                fmt::format("starting the helper: {} says: {}; it is no berth, or older than this "
                            "library: install both from one release",
                            place.program, said));
  }
  const int theirs_speak = greeting->json.value("berth_helper", 0);
  if (theirs_speak == protocol) return client;
  return fail(ErrorCode::unsupported,
              fmt::format("starting the helper: {} is of berth {} and speaks protocol {}, this "
                          "library is of {} and speaks {}: install both from one release",
                          place.program, greeting->json.value("version", "?"), theirs_speak,
                          BERTH_VERSION, protocol));
}

Result<void> HelperClient::ask(const Json& question) {
  if (socket_.send(question.dump(-1, ' ', false, Json::error_handler_t::replace))) return {};
  return std::unexpected(ended(program_));
}

Result<std::optional<Message>> HelperClient::receive() {
  auto line = socket_.receive(longest_message);
  if (!line) return std::unexpected(ended(program_));
  if (!*line) return std::optional<Message>();
  // What a parser builds is taken down by recursion.
  const bool is_flat = nesting_depth((*line)->text) <= deepest_message;
  Message message{.json = is_flat ? Json::parse((*line)->text, nullptr, false) : Json(),
                  .line = std::move((*line)->text),
                  .descriptor = std::move((*line)->descriptor)};
  if (!message.json.is_object()) {
    message.json = {
        {"error",
         {{"code", "invalid"}, {"message", printable(message.line.substr(0, longest_complaint))}}}};
  }
  return std::optional(std::move(message));
}

Result<Message> HelperClient::wait(Instant deadline) {
  while (true) {
    auto message = receive();
    if (!message) return std::unexpected(std::move(message).error());
    if (*message) return *std::move(*message);
    if (!wait_readable(deadline)) {
      return fail(ErrorCode::timeout,
                  fmt::format("the helper process of {} does not answer", program_));
    }
  }
}

bool HelperClient::wait_readable(Instant deadline) const {
  SystemClock clock;
  while (clock.now() < deadline) {
    if (clock.wait_readable(socket_.descriptor(), deadline)) return true;
  }
  return false;
}

Json own_variables() {
  Json all = Json::object();
  for (const char* name : {"CUDA_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER", "BERTH_LEASE",
                           "PYTORCH_NVML_BASED_CUDA_CHECK"}) {
    const char* value = std::getenv(name);
    all[name] = value == nullptr ? Json() : Json(value);
  }
  return all;
}

}  // namespace berth::lib
