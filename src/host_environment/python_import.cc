#include "host_environment/python_import.h"

#include <algorithm>

#include "base/process.h"
#include "base/text.h"
#include "host_environment/python_files.h"

namespace berth {

namespace {

/// JAX is not among them: its first question already takes most of each device's memory.
/// The working directory is taken off the path: a torch.py lying there is not the framework, and
/// may be anybody's.
constexpr const char* script = R"(import sys
sys.path = [folder for folder in sys.path if folder]
def say(name, key, value):
    print(name + '\t' + key + '\t' + ' '.join(str(value).split()), flush=True)
for name in sys.argv[1:]:
    say(name, 'begin', '')
    try:
        if name == 'torch':
            import torch
            say(name, 'version', torch.__version__)
            say(name, 'mkl', torch.backends.mkl.is_available())
            say(name, 'threads', torch.get_num_threads())
            if torch.version.cuda:
                import torch._C
                say(name, 'architectures', torch._C._cuda_getArchFlags() or '')
            say(name, 'sees', torch.cuda.is_available())
            say(name, 'devices', torch.cuda.device_count())
        if name == 'tensorflow':
            import tensorflow
            say(name, 'version', tensorflow.__version__)
            found = len(tensorflow.config.list_physical_devices('GPU'))
            say(name, 'sees', found > 0)
            say(name, 'devices', found)
    except BaseException as error:
        say(name, 'error', type(error).__name__ + ': ' + str(error)[:400])
)";

std::optional<bool> truth(std::string_view word) {
  if (word == "True") return true;
  if (word == "False") return false;
  return std::nullopt;
}

std::optional<int> small_number(std::string_view word) {
  const auto number = parse_unsigned(word);
  if (!number || *number > 1'000'000) return std::nullopt;
  return static_cast<int>(*number);
}

void note(FrameworkSaid& said, std::string_view key, std::string_view value) {
  if (key == "version") said.version = std::string(value);
  if (key == "mkl") said.has_mkl = truth(value);
  if (key == "threads") said.threads = small_number(value);
  if (key == "sees") said.sees_gpu = truth(value);
  if (key == "devices") said.devices = small_number(value);
  if (key == "error") said.error = std::string(value);
  if (key != "architectures") return;
  for (const std::string_view word : split(value, ' ')) {
    if (word.starts_with("compute_")) said.has_ptx = true;
    if (const auto one = parse_architecture(word)) said.architectures.push_back(*one);
  }
}

/// The last line that says something.
std::string last_words(std::string_view text) {
  std::string last;
  for (const std::string_view line : split(text, '\n')) {
    if (!trimmed(line).empty()) last = std::string(trimmed(line).substr(0, 400));
  }
  return last;
}

}  // namespace

std::vector<FrameworkSaid> parse_import_answer(std::string_view text) {
  std::vector<FrameworkSaid> all;
  for (const std::string_view line : split(text, '\n')) {
    const auto parts = split(line, '\t');
    if (parts.size() != 3 || parts[0].empty()) continue;
    if (parts[1] == "begin") {
      if (all.size() < 8) all.push_back({.name = std::string(parts[0])});
    } else if (!all.empty() && all.back().name == parts[0]) {
      note(all.back(), parts[1], parts[2]);
    }
  }
  return all;
}

ImportAnswer ask_by_import(const PythonEnvironment& python,
                           const std::vector<std::string>& environment, Clock& clock,
                           Duration patience) {
  std::vector<std::string> command = {python.interpreter, "-c", script};
  for (const char* name : {"torch", "tensorflow"}) {
    if (python.framework(name) != nullptr) command.emplace_back(name);
  }
  if (command.size() == 3) return {};
  const auto quiet = with_variables(environment, {{"TF_CPP_MIN_LOG_LEVEL", "1"}});
  const auto answer = answer_of(command, quiet, default_search_path, clock, patience);
  if (!answer) return {.end = ImportEnd::not_started, .detail = answer.error().message()};
  ImportAnswer said{.end = ImportEnd::answered, .frameworks = parse_import_answer(answer->out)};
  if (!said.frameworks.empty()) said.frameworks.back().warning = last_words(answer->err);
  if (!answer->exit) {
    said.end = ImportEnd::took_too_long;
  } else if (answer->exit->signal != 0) {
    said.end = ImportEnd::crashed;
    said.detail = "signal " + std::to_string(answer->exit->signal);
  } else if (said.frameworks.empty()) {
    said.end = ImportEnd::not_started;
    said.detail = last_words(answer->err);
  }
  return said;
}

}  // namespace berth
