#include "app/serve_page.h"

#include <unistd.h>

#include <utility>

#include "app/verb.h"
#include "base/process.h"
#include "base/signals.h"
#include "base/text.h"
#include "base/tr.h"

namespace berth {

namespace {

bool is_set(const Context& context, const char* name) {
  return !context.variable(name).value_or("").empty();
}

using BrowserCommand = std::vector<std::string>;

/// What $BROWSER names, in its order. A "&" at the end asks for what we do anyway.
std::vector<BrowserCommand> named_browsers(const Context& context) {
  std::vector<BrowserCommand> commands;
  const std::string browsers = context.variable("BROWSER").value_or("");
  for (const std::string_view one : split(browsers, ':')) {
    const auto typed = words_in(one);
    BrowserCommand words(typed.begin(), typed.end());
    if (!words.empty() && words.back() == "&") words.pop_back();
    if (!words.empty()) commands.push_back(std::move(words));
  }
  return commands;
}

std::string clipped(const Context& context, std::string_view command) {
  return cut_to_width(printable(command), 120, !context.err().utf8);
}

std::unexpected<Error> none_can_be_found(const Context& context,
                                         const std::vector<BrowserCommand>& commands) {
  const auto program = [](const BrowserCommand& command) { return command.front(); };
  const std::string tried = clipped(context, joined(commands, ", ", program));
  return fail(ErrorCode::not_found,
              "none of the commands in $BROWSER can be found (tried without a shell: {}). Set it "
              "to one that is there, or open the address yourself",
              tried);
}

std::unexpected<Error> cannot_begin(const Error& error) {
  return fail(ErrorCode::io,
              "cannot start a process for the browser ({}): open the address yourself",
              error.said());
}

/// In the place of each "%s", else behind the words.
BrowserCommand with_address(BrowserCommand command, const std::string& url) {
  bool has_place = false;
  for (std::string& word : command) {
    for (std::size_t at = word.find("%s"); at != std::string::npos;
         at = word.find("%s", at + url.size())) {
      word.replace(at, 2, url);
      has_place = true;
    }
  }
  if (!has_place) command.push_back(url);
  return command;
}

/// Only returns where it fails.
int become_browser(const Context& context, const BrowserCommand& command, int addresses) {
  const auto url = read_all(addresses);
  if (!url || url->empty()) return 0;
  reset_signals();
  static_cast<void>(
      execute(with_address(command, *url), context.environment(), context.search_path()));
  return 127;
}

}  // namespace

void say_where(const Context& context, const std::vector<serve::Address>& addresses, bool with_tls,
               const std::string& socket) {
  for (const serve::Address& address : addresses) {
    const bool is_https = with_tls && !serve::is_loopback(address);
    complain(trf("serving at {}://{}", is_https ? "https" : "http", serve::as_text(address)));
    if (!serve::is_loopback(address) && !is_https) {
      complain(
          tr("tokens travel in the clear there: give --tls-cert and --tls-key, or put a proxy "
             "in front"));
    }
  }
  if (!socket.empty()) complain(trf("serving at {}", socket));
  if (context.replay()) {
    complain(trf("REPLAYED: {}: not what this machine does now", printable(*context.replay())));
  }
  say_simulated(context.sources().simulated);
}

Result<std::vector<std::string>> browser_command(const Context& context) {
  const std::string path = context.search_path();
  const std::vector<BrowserCommand> named = named_browsers(context);
  for (const BrowserCommand& command : named) {
    if (find_executable(command.front(), path)) return command;
  }
  if (!named.empty()) return none_can_be_found(context, named);
  if (!is_set(context, "DISPLAY") && !is_set(context, "WAYLAND_DISPLAY")) {
    return fail(ErrorCode::not_found,
                "there is no desktop here ($DISPLAY and $WAYLAND_DISPLAY are not set): open the "
                "address yourself, or set $BROWSER");
  }
  if (!find_executable("xdg-open", path)) {
    return fail(
        ErrorCode::not_found,
        "there is no xdg-open here, and $BROWSER is not set: open the address yourself, or set it");
  }
  return BrowserCommand{"xdg-open"};
}

bool expects_browser(const Context& context) {
  if (::isatty(STDIN_FILENO) != 1 || !context.stderr_is_terminal() || ::geteuid() == 0) {
    return false;
  }
  for (const char* nobody_known : {"SUDO_UID", "TMUX", "STY", "CI"}) {
    if (is_set(context, nobody_known)) return false;
  }
  // Through SSH $BROWSER alone may well be a browser of this machine, seen by nobody.
  const bool through_ssh = is_set(context, "SSH_CONNECTION") || is_set(context, "SSH_TTY");
  const bool reaches_back =
      is_set(context, "VSCODE_IPC_HOOK_CLI") && !named_browsers(context).empty();
  if (through_ssh && !reaches_back) return false;
  return browser_command(context).has_value();
}

Result<BrowserLater> BrowserLater::begin(const Context& context) {
  auto command = browser_command(context);
  if (!command) return std::unexpected(std::move(command).error());
  auto pipe = make_pipe();
  if (!pipe) return cannot_begin(pipe.error());
  // Twice: it is nobody's child here, and nobody waits for it.
  const auto child = fork_process([&] {
    if (!start_session() || !close_standard_streams()) return 1;
    close_descriptors({pipe->read.get()});
    const auto browser =
        fork_process([&] { return become_browser(context, *command, pipe->read.get()); });
    return browser ? 0 : 1;
  });
  if (!child) return cannot_begin(child.error());
  const auto ended = reap(*child);
  if (!ended) return cannot_begin(ended.error());
  if (const int code = shell_exit_code(*ended); code != 0) {
    return cannot_begin(
        fail(ErrorCode::io, "the one that was to start it ended with exit code {}", code).error());
  }
  return BrowserLater(std::move(pipe->write), clipped(context, command->front()));
}

void BrowserLater::show(const std::string& url) {
  const auto told = write_all(address_.get(), url);
  address_ = Fd();
  if (told) return complain(trf("opening it in {} …", name_));
  complain(
      tr("no page is opened: the process that was to do it has ended; open the address "
         "yourself"));
}

}  // namespace berth
