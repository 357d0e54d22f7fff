// `berth support`: one file for a bug report, shown before it is written; nothing is ever sent.

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <ctime>

#include "app/support_parts.h"
#include "app/verb.h"
#include "base/fd.h"
#include "base/text.h"
#include "base/tr.h"
#include "view/support_text.h"
#include "view/values.h"

namespace berth {

namespace {

std::string default_path(WallTime now) {
  std::string date = date_time_text(now, Style{});
  std::erase_if(date, [](char c) { return c == '-' || c == ':'; });
  date.replace(date.find(' '), 1, "-");
  return "berth-support-" + date + ".txt";
}

/// Whole or not at all, and never over a file that is there.
Result<void> write_new_file(const std::string& path, std::string_view text) {
  const std::string unfinished = path + ".unfinished-" + std::to_string(::getpid());
  auto file = open_fd(unfinished, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0600);
  if (!file) return std::unexpected(std::move(file).error());
  auto written = write_all(file->get(), text);
  if (written && ::fsync(file->get()) != 0) {
    written = fail_system(errno, "write {}", printable(path));
  }
  // link(2) fails where there is a file of that name; rename would replace it.
  if (written && ::link(unfinished.c_str(), path.c_str()) != 0) {
    written = fail_system(errno, "create {}", printable(path));
  }
  ::unlink(unfinished.c_str());
  return written;
}

/// A line typed at the terminal.
bool says_yes() {
  std::string line;
  char byte = 0;
  while (line.size() < 100 && ::read(STDIN_FILENO, &byte, 1) == 1 && byte != '\n') line += byte;
  const std::string answer = small_letters(trimmed(line));
  return answer == "y" || answer == "yes" || answer == "是";
}

class SupportVerb final : public Verb {
 public:
  void declare(Options& options) override {
    options.filled_value("-o,--output", path_, "write it there (berth-support-TIME.txt here)",
                         "FILE");
    options.flag("--yes", yes_, "write it without asking");
    options.flag("--names", names_, "leave the names of users and of this machine in it");
    options.filled_value("--log", log_, "add the output of this run", "RUN");
  }

  int run(Context& context, const std::vector<std::string>& rest) override {
    if (!rest.empty()) {
      complain(trf("support takes no word \"{}\"", printable(rest.front())));
      return exit_code::usage;
    }
    const WallTime now = context.clock().wall_now();
    if (path_.empty()) path_ = default_path(now);
    struct stat status{};
    const bool to_stdout = path_ == "-";
    if (!to_stdout && ::lstat(path_.c_str(), &status) == 0) {
      complain(
          trf("{} is there already and stays as it is: name another with -o", printable(path_)));
      return exit_code::failed;
    }
    complain(tr("looking; this can take a minute where a driver hangs"));
    SupportFile file = made(context, now);
    const std::string text = support_file_text(file);
    if (to_stdout) {  // asked for there, read there
      print(text);
      return exit_code::ok;
    }
    print(render_support_list(file, path_, context.out()));
    if (!agreed()) return exit_code::failed;
    if (const auto written = write_new_file(path_, text); !written) {
      return report(written.error());
    }
    print(trf("Written: {} ({}). Read it, then attach it.", printable(path_),
              bytes_text(Bytes(text.size()))) +
          "\n");
    return exit_code::ok;
  }

 private:
  [[nodiscard]] SupportFile made(Context& context, WallTime now) const {
    SupportQuestion question{.log_of = log_};
    SupportFile file{.version = BERTH_VERSION, .made = now, .keeps_names = names_};
    if (const auto& simulated = context.sources().simulated) {
      question.global = {"--sim", *simulated};
      file.simulated = simulated;
    }
    if (const auto& replay = context.replay()) {
      question.global = {"--replay", *replay};
      file.simulated = *replay;
    }
    file.parts = gather_support(context, question);
    file.knows_users = has_snapshot(file.parts);
    Redactor redactor(names_ ? Redactor::Names{} : names_to_replace(context, file.parts));
    for (SupportPart& part : file.parts) {
      // In this order: cut first, a value could stand without the name that tells of it.
      part.text = shortened(redactor.cleaned(part.text));
      part.origin = redactor.cleaned(part.origin);
      part.problem = redactor.cleaned(part.problem);
    }
    file.secrets = redactor.secrets();
    file.names = redactor.names();
    return file;
  }

  [[nodiscard]] bool agreed() const {
    if (yes_) return true;
    if (::isatty(STDIN_FILENO) != 1 || ::isatty(STDOUT_FILENO) != 1) {
      complain(tr("nothing was written: without a terminal to ask on, --yes writes it"));
      return false;
    }
    print(trf("Write {}? [y/N] ", printable(path_)));
    if (!finish_output()) return false;
    if (says_yes()) return true;
    complain(tr("nothing was written"));
    return false;
  }

  std::string path_;
  std::string log_;
  bool yes_ = false;
  bool names_ = false;
};

}  // namespace

std::unique_ptr<Verb> make_support() { return std::make_unique<SupportVerb>(); }

}  // namespace berth
