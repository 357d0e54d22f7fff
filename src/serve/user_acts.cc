#include "serve/user_acts.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <functional>
#include <string>
#include <vector>

#include "base/fd.h"
#include "base/owned_file.h"
#include "base/process.h"
#include "base/sentence.h"
#include "base/text.h"
#include "base/user_name.h"
#include "record/run_record.h"
#include "run/run.h"

namespace berth::serve {

namespace {

constexpr std::string_view done = "+";
constexpr std::chrono::seconds grace{10};

std::string_view word_for(StopResult result) {
  switch (result) {
    case StopResult::had_ended:
    case StopResult::not_again:
      return "had ended";
    case StopResult::ended_by_term:
      return "ended";
    case StopResult::ended_by_kill:
      return "killed";
  }
  return "ended";
}

Result<std::string> stop_in(const std::string& state_directory, const std::string& run) {
  const auto record = load_run(state_directory, run);
  if (!record) {
    return fail(record.error().code(), "{}: its owner can end it with berth stop {}",
                record.error().said(), run);
  }
  SystemClock clock;
  const auto stopped = stop_run_and_begun(state_directory, *record, grace, clock);
  if (!stopped) return std::unexpected(stopped.error());
  return std::string(word_for(*stopped));
}

/// The environment that a process of this user began with, NAME=value each. Nothing: there is no
/// such process, or it is another user's. A lease may name any process as its keeper.
std::vector<std::string> environment_of(ProcessId process, uid_t uid) {
  const std::string folder = "/proc/" + std::to_string(process.pid);
  struct stat facts{};
  if (::stat(folder.c_str(), &facts) != 0 || facts.st_uid != uid) return {};
  const auto text = read_file(folder + "/environ");
  // Its number may have become another's meanwhile.
  const auto still = identify_process(process.pid);
  if (!text || !still || *still != process) return {};
  std::vector<std::string> all;
  for (const std::string_view one : split(*text, '\0')) all.emplace_back(one);
  return all;
}

/// The state directory with the run of somebody else's lease. It is where its keeper was told to
/// write, or in the user's home. Nothing: it is not known.
std::optional<std::string> state_directory_of(const Claim& claim) {
  std::optional<std::string> state;
  std::optional<std::string> home;
  if (!claim.keeper) return std::nullopt;
  for (const std::string& variable : environment_of(*claim.keeper, claim.uid)) {
    constexpr std::string_view state_name = "XDG_STATE_HOME=/";
    constexpr std::string_view home_name = "HOME=/";
    if (variable.starts_with(state_name)) state = variable.substr(state_name.size() - 1);
    if (variable.starts_with(home_name)) home = variable.substr(home_name.size() - 1);
  }
  if (state) return *state + "/berth";
  if (!home) {
    const auto passwd = read_file("/etc/passwd");
    if (passwd) home = home_in_passwd(*passwd, claim.uid);
  }
  return home ? std::optional(*home + "/.local/state/berth") : std::nullopt;
}

/// Does it with the rights of that user. What it says comes back as "+answer" or as an error's code
/// and message.
Result<std::string> as_user(uid_t uid, const std::function<Result<std::string>()>& act) {
  if (uid == ::geteuid()) return act();
  if (::geteuid() != 0) {
    return fail(ErrorCode::no_permission,
                "berth serve runs as {} and cannot act for {}: run it as root, or let {} do it",
                local_user_name(::geteuid()), local_user_name(uid), local_user_name(uid));
  }
  auto pipe = make_pipe();
  if (!pipe) return std::unexpected(std::move(pipe).error());
  const auto child = fork_process([&] {
    pipe->read.close();
    // No group is needed here.
    const auto result = become_user({.uid = uid}, std::nullopt)
                            ? act()
                            : Result<std::string>(fail_system(errno, "become the user"));
    const std::string text = result ? std::string(done) + *result
                                    : fmt::format("{}\n{}", static_cast<int>(result.error().code()),
                                                  result.error().message());
    return write_all(pipe->write.get(), text) ? 0 : 1;
  });
  if (!child) return std::unexpected(child.error());
  pipe->write.close();
  const auto text = read_all(pipe->read.get());
  static_cast<void>(reap(*child));
  if (!text) return std::unexpected(text.error());
  if (text->starts_with(done)) return text->substr(done.size());
  const std::size_t line = text->find('\n');
  const auto code = parse_unsigned(std::string_view(*text).substr(0, line));
  if (!code || line == std::string::npos) {
    return fail(ErrorCode::io, "the process that was to do it ended without a word");
  }
  return fail(static_cast<ErrorCode>(*code), Sentence(text->substr(line + 1)));
}

}  // namespace

Result<std::string> UserActs::release(const Claim& claim, std::optional<uid_t>) const {
  if (claim.run.empty()) {
    return fail(ErrorCode::not_found, "this lease does not say which run holds it");
  }
  const auto state = claim.uid == ::geteuid() ? state_directory_ : state_directory_of(claim);
  if (!state) return fail(ErrorCode::not_found, "where its runs are recorded is not known");
  // Also for an administrator as the owner: the record is the owner's and may name any process.
  return as_user(claim.uid, [&] { return stop_in(*state, claim.run); });
}

Result<void> UserActs::tell(const AlertCommand& command, uid_t uid) const {
  constexpr uid_t nobody = 65534;
  const bool is_root = ::geteuid() == 0;
  const auto told = as_user(uid == 0 ? nobody : uid, [&]() -> Result<std::string> {
    // The user may use whatever a process of theirs has: our terminal is not among it.
    if (is_root && !close_standard_streams()) {
      return fail(ErrorCode::io, "its input and output could not be closed");
    }
    const auto ran = run_and_wait(command);
    if (!ran) return std::unexpected(ran.error());
    return std::string();
  });
  if (!told) return std::unexpected(told.error());
  return {};
}

Result<void> UserActs::signal(ProcessId process, int number, std::optional<uid_t> uid) const {
  const auto sent = as_user(uid.value_or(::geteuid()), [&]() -> Result<std::string> {
    const auto result = send_signal(process, number);
    if (!result) return std::unexpected(result.error());
    return std::string();
  });
  if (!sent) return std::unexpected(sent.error());
  return {};
}

}  // namespace berth::serve
