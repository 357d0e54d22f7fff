// shim_of [--template FILE] [--root FOLDER] [--folder FOLDER]… [--programs NAME…] COMMAND…
//
// Executes the command with the shim that prepare_shim() makes for this environment. Says on stderr
// what there is to say; without a shim the first line is "none: WHY". With `--print` it prints the
// shim's paths instead. --account FILE --limit UUID=BYTES makes the run's account first.
//
// shim_of --told FILE: for each device of an account "charged highest refusals".

#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include "base/fd.h"
#include "base/process.h"
#include "base/text.h"
#include "guard/account_file.h"
#include "guard/shim_files.h"

namespace {
int print_told(const std::string& path) {
  const auto account = berth::AccountFile::open(path);
  const auto told = account ? account->told() : std::unexpected(account.error());
  if (!told) std::fprintf(stderr, "%s\n", told.error().message().c_str());
  if (!told) return 1;
  for (const auto& one : *told) {
    std::printf("%lu %lu %lu\n", one.charged.count(), one.highest.count(), one.refusals);
  }
  return 0;
}
}  // namespace

int main(int count, char** words) {
  using namespace berth;
  ShimQuestion question{.working_directory = "/", .root = ""};
  for (char** variable = environ; *variable != nullptr; ++variable) {
    question.environment.emplace_back(*variable);
  }
  std::string shim_bytes = shim_template();
  std::string account = "/nonexistent/account";
  std::vector<AccountDevice> devices;
  bool prints = false;
  int at = 1;
  for (; at < count && std::strncmp(words[at], "--", 2) == 0; ++at) {
    const std::string option = words[at];
    if (option == "--print") {
      prints = true;
      continue;
    }
    if (at + 1 >= count) return 2;
    const std::string value = words[++at];
    if (option == "--told") return print_told(value);
    if (option == "--limit") {
      const std::size_t equals = value.find('=');
      devices.push_back({.uuid = value.substr(0, equals),
                         .limit = Bytes{parse_unsigned(value.substr(equals + 1)).value_or(0)}});
    }
    if (option == "--template") shim_bytes = read_file(value, 8 << 20).value_or("");
    if (option == "--root") question.root = value;
    if (option == "--folder") question.folders.push_back(value);
    if (option == "--program") question.programs.push_back(value);
    if (option == "--account") account = value;
    if (option == "--glibc") question.glibc = value;
    if (option == "--directory") question.working_directory = value;
  }
  if (question.folders.empty()) question.folders = shim_folders(question.environment, ::geteuid());
  question.shim_template = shim_bytes;
  if (!devices.empty()) {
    if (const auto made = AccountFile::make(account, devices); !made) {
      std::fprintf(stderr, "%s\n", made.error().message().c_str());
      return 1;
    }
  }
  const std::vector<std::string> command(words + at, words + count);
  const auto shim = prepare_shim(question);
  if (!shim) {
    std::fprintf(stderr, "none: %s\n", shim.error().english().c_str());
  } else {
    for (const Sentence& one : shim->said)
      std::fprintf(stderr, "said: %s\n", one.english().c_str());
    question.environment =
        with_variables(question.environment, shim_variables(question.environment, *shim, account));
  }
  if (prints) {
    if (shim)
      std::printf("%s\n%s\n%s\n", shim->image.c_str(), shim->driver.c_str(),
                  shim->driver_build_id.c_str());
    return shim ? 0 : 3;
  }
  const Error failed = execute(command, question.environment, default_search_path);
  std::fprintf(stderr, "shim_of: %s\n", failed.message().c_str());
  return 127;
}
