// `berth service`: has systemd run `berth serve`, for the whole machine or for one user.

#include <unistd.h>

#include <cerrno>
#include <optional>

#include "app/verb.h"
#include "base/fd.h"
#include "base/process.h"
#include "base/text.h"
#include "base/tr.h"
#include "serve/systemd.h"

namespace berth {

namespace {

using Command = std::vector<std::string>;

class ServiceVerb final : public Verb {
 public:
  void declare(Options& options) override {
    options.word("action", action_, "install, uninstall or status");
    options.flag("--user", user_, "for yourself alone, without root");
    options.flag("--dry-run", dry_run_, "print what would be written and run, and do nothing");
    options.filled_value("--root", root_, "put the unit under this directory (for images)",
                         "DIRECTORY");
  }

  int run(Context& context, const std::vector<std::string>&) override {
    const auto path = unit_path(context);
    if (!path) return report(path.error());
    if (action_ == "install") return install(context, *path);
    if (action_ == "uninstall") return uninstall(context, *path);
    if (action_ == "status") return status(context, *path);
    complain(tr("service: berth service install, uninstall or status"));
    return exit_code::usage;
  }

 private:
  Result<std::string> unit_path(const Context& context) const {
    if (!user_) return root_ + "/etc/systemd/system/" + serve::service_name;
    const auto config = context.variable("XDG_CONFIG_HOME");
    if (config && config->starts_with('/'))
      return root_ + *config + "/systemd/user/" + serve::service_name;
    const auto home = context.variable("HOME");
    if (home && home->starts_with('/')) {
      return root_ + *home + "/.config/systemd/user/" + serve::service_name;
    }
    return fail(ErrorCode::not_found, "no place for a unit: HOME is not set");
  }

  [[nodiscard]] Command systemctl(std::initializer_list<const char*> words) const {
    Command command = {"systemctl"};
    if (user_) command.emplace_back("--user");
    command.insert(command.end(), words.begin(), words.end());
    return command;
  }

  /// Why systemd is not asked; nothing: it is there.
  std::optional<std::string> why_not_run() const {
    if (dry_run_) return std::string(tr("--dry-run"));
    if (!root_.empty()) return std::string(tr("the unit is for an image"));
    // As sd_booted(3) tells.
    if (::access("/run/systemd/system", F_OK) != 0) {
      return std::string(tr("systemd does not run here"));
    }
    return std::nullopt;
  }

  /// Shows each command; runs it where systemd is there.
  int carry_out(Context& context, const std::vector<Command>& commands) const {
    const auto why_not = why_not_run();
    for (const Command& command : commands) print("$ " + shell_joined(command) + "\n");
    if (why_not) {
      print(trf("= not run: {}", *why_not) + "\n");
      return exit_code::ok;
    }
    for (const Command& command : commands) {
      const auto done = output_of(command, context.environment(), context.search_path(),
                                  context.clock(), std::chrono::seconds(60));
      if (!done) return report(Error(done.error()).at(shell_joined(command)));
      print(*done);
    }
    return exit_code::ok;
  }

  Result<void> check_it_is_ours(const std::string& path) const {
    const auto had = read_file(path);
    if (had && !serve::is_our_unit(*had)) {
      return fail(ErrorCode::busy, "{} is there and not berth's: move it away first", path);
    }
    return {};
  }

  int install(Context& context, const std::string& path) const {
    const auto program = own_program();
    if (!program) {
      return report(Error(ErrorCode::not_found, "the file of this berth is gone: install it anew"));
    }
    const std::string text = serve::service_unit(
        user_ ? serve::ServiceScope::user : serve::ServiceScope::system, *program);
    if (const auto ours = check_it_is_ours(path); !ours) return report(ours.error());
    if (dry_run_) {
      print(trf("+ {} would be:", path) + "\n" + text);
    } else {
      const auto made = make_directories(path.substr(0, path.rfind('/')), 0755);
      const auto written = made ? write_file_atomically(path, text, 0644) : made;
      if (!written) {
        complain(written.error().shown());
        complain(
            tr("for the whole machine this is root's to do: sudo berth service install; for "
               "yourself: berth service install --user"));
        return exit_code::failed;
      }
      print("+ " + path + "\n");
    }
    const int code = carry_out(context, {systemctl({"daemon-reload"}),
                                         systemctl({"enable", "--now", serve::service_name})});
    if (user_ && code == exit_code::ok) {
      print(std::string(tr("= it ends when you log out, unless: loginctl enable-linger")) + "\n");
    }
    return code;
  }

  int uninstall(Context& context, const std::string& path) const {
    if (::access(path.c_str(), F_OK) != 0 && errno == ENOENT) {
      print(trf("= {} is not there", path) + "\n");
      return exit_code::ok;
    }
    if (const auto ours = check_it_is_ours(path); !ours) return report(ours.error());
    const int code = carry_out(context, {systemctl({"disable", "--now", serve::service_name})});
    if (dry_run_ || code != exit_code::ok) return code;
    if (::unlink(path.c_str()) != 0) return report(system_error(errno, "remove {}", path));
    print("- " + path + "\n");
    return carry_out(context, {systemctl({"daemon-reload"})});
  }

  int status(Context& context, const std::string& path) const {
    const bool installed = ::access(path.c_str(), F_OK) == 0;
    print(installed ? "= " + path + "\n" : trf("= {} is not there", path) + "\n");
    if (!installed) return exit_code::failed;
    return carry_out(
        context,
        {systemctl({"show", "--property=ActiveState,SubState,StatusText", serve::service_name})});
  }

  std::string action_, root_;
  bool user_ = false;
  bool dry_run_ = false;
};

}  // namespace

std::unique_ptr<Verb> make_service() { return std::make_unique<ServiceVerb>(); }

}  // namespace berth
