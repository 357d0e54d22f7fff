#include "app/browser.h"

#include <unistd.h>

#include <csignal>
#include <utility>

#include "base/process.h"
#include "base/text.h"

namespace berth {

namespace {

std::string search_path(const Context& context) {
  return context.variable("PATH").value_or(default_search_path);
}

bool is_set(const Context& context, const char* name) {
  return !context.variable(name).value_or("").empty();
}

/// Only returns where it fails.
int become_browser(const Context& context, std::vector<std::string> command, int addresses) {
  const auto url = read_all(addresses);
  if (!url || url->empty()) return 0;
  bool has_place = false;
  for (std::string& word : command) {
    const std::size_t at = word.find("%s");
    if (at == std::string::npos) continue;
    word.replace(at, 2, *url);
    has_place = true;
  }
  if (!has_place) command.push_back(*url);
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  ::signal(SIGPIPE, SIG_DFL);
  static_cast<void>(execute(command, context.environment(), search_path(context)));
  return 127;
}

}  // namespace

Result<std::vector<std::string>> browser_command(const Context& context) {
  const std::string path = search_path(context);
  const std::string browsers = context.variable("BROWSER").value_or("");
  for (const std::string_view one : split(browsers, ':')) {
    std::vector<std::string> words;
    for (const std::string_view word : split(one, ' ')) {
      if (!word.empty()) words.emplace_back(word);
    }
    if (!words.empty() && find_executable(words.front(), path)) return words;
  }
  if (is_set(context, "BROWSER")) {
    return fail(ErrorCode::not_found, "none of the commands in $BROWSER can be found");
  }
  if (!is_set(context, "DISPLAY") && !is_set(context, "WAYLAND_DISPLAY")) {
    return fail(ErrorCode::not_found,
                "there is no desktop here ($DISPLAY and $WAYLAND_DISPLAY are not set)");
  }
  if (!find_executable("xdg-open", path)) {
    return fail(ErrorCode::not_found, "there is no xdg-open here, and $BROWSER is not set");
  }
  return std::vector<std::string>{"xdg-open"};
}

bool expects_browser(const Context& context) {
  if (::isatty(STDIN_FILENO) != 1 || !context.stderr_is_terminal() || ::geteuid() == 0)
    return false;
  if (is_set(context, "SSH_CONNECTION") && !is_set(context, "BROWSER")) return false;
  return browser_command(context).has_value();
}

Result<BrowserLater> BrowserLater::begin(const Context& context) {
  auto command = browser_command(context);
  if (!command) return std::unexpected(std::move(command).error());
  auto pipe = make_pipe();
  if (!pipe) return std::unexpected(std::move(pipe).error());
  // Twice: it is nobody's child here, and nobody waits for it.
  const auto child = fork_process([&] {
    if (!start_session() || !close_standard_streams()) return 1;
    close_descriptors({pipe->read.get()});
    const auto browser =
        fork_process([&] { return become_browser(context, *command, pipe->read.get()); });
    return browser ? 0 : 1;
  });
  if (!child) return std::unexpected(child.error());
  static_cast<void>(reap(*child));
  return BrowserLater(std::move(pipe->write));
}

void BrowserLater::show(const std::string& url) {
  // That it was shut meanwhile is no matter: the address stands on the terminal as well.
  static_cast<void>(write_all(address_.get(), url));
  address_ = Fd();
}

}  // namespace berth
