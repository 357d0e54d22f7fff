#include "host_environment/python_files.h"

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

}  // namespace berth
