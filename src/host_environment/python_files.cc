#include "host_environment/python_files.h"

#include "base/process.h"
#include "base/text.h"

namespace berth {

namespace {

/// What stands between the quotes that the text begins with, else its first word.
std::string_view literal_in(std::string_view text) {
  text = trimmed(text);
  if (!text.empty() && (text[0] == '\'' || text[0] == '"')) {
    const std::size_t end = text.find(text[0], 1);
    return end == text.npos ? std::string_view() : text.substr(1, end - 1);
  }
  return text.substr(0, text.find_first_of(" #\r,"));
}

/// The right side of `name = …` or `name: type = …`; nothing: the line assigns something else.
std::optional<std::string_view> assigned(std::string_view line, std::string_view name) {
  if (!line.starts_with(name)) return std::nullopt;
  const std::string_view rest = trimmed(line.substr(name.size()));
  if (rest.empty() || (rest[0] != '=' && rest[0] != ':')) return std::nullopt;
  const std::size_t equals = rest.find('=');
  if (equals == rest.npos) return std::nullopt;
  return literal_in(rest.substr(equals + 1));
}

/// The text after `"key":` of a Python dict.
std::optional<std::string_view> dict_value(std::string_view text, std::string_view key) {
  for (const char quote : {'"', '\''}) {
    const std::string wanted = quote + std::string(key) + quote;
    const std::size_t at = text.find(wanted);
    if (at == text.npos) continue;
    const std::string_view rest = trimmed(text.substr(at + wanted.size()));
    if (!rest.empty() && (rest[0] == ':' || rest[0] == ',')) return trimmed(rest.substr(1));
  }
  return std::nullopt;
}

/// "sm_86" or "8.6"; nothing: neither.
std::optional<ComputeCapability> parse_architecture(std::string_view word) {
  if (word.starts_with("sm_") || word.starts_with("compute_")) {
    std::string_view digits = word.substr(word.find('_') + 1);
    while (!digits.empty() && (digits.back() < '0' || digits.back() > '9')) digits.remove_suffix(1);
    const auto number = parse_unsigned(digits);
    if (!number || *number < 10 || *number > 999) return std::nullopt;
    return ComputeCapability{static_cast<int>(*number / 10), static_cast<int>(*number % 10)};
  }
  const auto parts = two_part(word);
  if (!parts || word.find('.') == word.npos) return std::nullopt;
  return ComputeCapability{parts->major, parts->minor};
}

}  // namespace

TorchVersionFile parse_torch_version(std::string_view text) {
  TorchVersionFile file;
  file.cuda = Absent::unsupported;
  for (const std::string_view line : split(text, '\n')) {
    if (const auto version = assigned(line, "__version__")) file.version = std::string(*version);
    if (const auto hip = assigned(line, "hip")) file.is_rocm = *hip != "None" && !hip->empty();
    const auto cuda = assigned(line, "cuda");
    if (!cuda) continue;
    if (*cuda == "None") {
      file.cuda = std::optional<TwoPart>();
    } else if (const auto number = two_part(*cuda)) {
      file.cuda = std::optional(*number);
    }
  }
  return file;
}

TensorFlowBuildFile parse_tensorflow_build(std::string_view text) {
  TensorFlowBuildFile file;
  file.cuda = Absent::unsupported;
  const auto is_cuda = dict_value(text, "is_cuda_build");
  if (is_cuda && is_cuda->starts_with("False")) file.cuda = std::optional<TwoPart>();
  if (!is_cuda || !is_cuda->starts_with("True")) return file;
  if (const auto version = dict_value(text, "cuda_version")) {
    if (const auto number = two_part(literal_in(*version))) file.cuda = std::optional(*number);
  }
  if (const auto version = dict_value(text, "cudnn_version")) {
    if (const auto number = two_part(literal_in(*version))) file.cudnn_major = number->major;
  }
  const auto list = dict_value(text, "cuda_compute_capabilities");
  if (!list || !list->starts_with('[')) return file;
  for (const std::string_view part : split(list->substr(1, list->find(']') - 1), ',')) {
    const std::string_view word = literal_in(part);
    if (word.starts_with("compute_")) file.has_ptx = true;
    if (const auto architecture = parse_architecture(word)) {
      file.architectures.push_back(*architecture);
    }
  }
  return file;
}

// A list stands behind the key ("[a, b]") or in lines of "- a" below it.
bool names_conda_channels(std::string_view text) {
  bool in_list = false;
  for (const std::string_view whole : split(text, '\n')) {
    const std::string_view line = trimmed(whole);
    if (line.empty() || line[0] == '#') continue;
    if (line[0] == '-') {
      if (in_list && !trimmed(line.substr(1)).empty()) return true;
      continue;
    }
    const std::size_t colon = line.find(':');
    const std::string_view key = line.substr(0, colon);
    const bool is_top = whole[0] != ' ' && whole[0] != '\t';
    in_list = is_top && (key == "channels" || key == "default_channels" || key == "channel_alias");
    if (!in_list || colon == line.npos) continue;
    const std::string_view value = trimmed(line.substr(colon + 1));
    if (!value.empty() && value[0] != '#' && value != "[]") return true;
  }
  return false;
}

std::string parse_pip_index(std::string_view text) {
  bool wanted_section = false;
  for (const std::string_view whole : split(text, '\n')) {
    const std::string_view line = trimmed(whole);
    if (line.starts_with('[')) wanted_section = line == "[global]" || line == "[install]";
    if (!wanted_section || !line.starts_with("index-url") || line.find('=') == line.npos) continue;
    return std::string(trimmed(line.substr(line.find('=') + 1)));
  }
  return "";
}

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

}  // namespace

std::string last_line_of(std::string_view text) {
  std::string last;
  for (const std::string_view line : split(text, '\n')) {
    if (!trimmed(line).empty()) last = std::string(trimmed(line).substr(0, 400));
  }
  return last;
}

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
  if (!said.frameworks.empty()) said.frameworks.back().warning = last_line_of(answer->err);
  if (!answer->exit) {
    said.end = ImportEnd::took_too_long;
  } else if (answer->exit->signal != 0) {
    said.end = ImportEnd::crashed;
    said.detail = "signal " + std::to_string(answer->exit->signal);
  } else if (said.frameworks.empty()) {
    said.end = ImportEnd::not_started;
    said.detail = last_line_of(answer->err);
  }
  return said;
}

}  // namespace berth
