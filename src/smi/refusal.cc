#include "smi/refusal.h"

#include <fmt/format.h>

#include "base/text.h"

namespace berth::smi {

namespace {

constexpr int not_available = 3;

/// A full-width character or a curly quote looks like the right one: it is named.
std::string hint(const std::vector<std::string>& argv) {
  for (const std::string& word : argv) {
    const auto mistake = typographic_mistake(word);
    if (!mistake) continue;
    return fmt::format("\"{}\" was typed as \"{}\"; did you mean {}?\n", printable(word),
                       printable(mistake->found), printable(mistake->corrected));
  }
  return "";
}

std::string words_behind(const std::vector<std::string>& argv) {
  return argv.empty() ? "" : " " + shell_joined(argv);
}

}  // namespace

SmiRequest says(std::string text, int code) {
  SmiRequest request;
  request.what = SmiRequest::What::text;
  request.said = {.text = std::move(text), .code = code};
  return request;
}

SmiRequest invalid(const std::vector<std::string>& argv) {
  return says(
      "Invalid combination of input arguments. Please run 'nvidia-smi -h' for help.\n" + hint(argv),
      bad_argument);
}

SmiRequest unknown_option(std::string_view word, const std::vector<std::string>& argv) {
  return says(fmt::format("ERROR: Option {} is not recognized. Please run 'nvidia-smi -h' for "
                          "help.\n{}",
                          printable(word), hint(argv)),
              bad_argument);
}

SmiRequest without_value(std::string_view option) {
  return says(fmt::format("ERROR: Option {} is missing its value. Please run 'nvidia-smi -h' for "
                          "help.\n",
                          printable(option)),
              bad_argument);
}

SmiRequest not_an_option(std::string_view word, std::string_view of) {
  return says(fmt::format("\"{}\" is not a valid option for {} switch. Please run 'nvidia-smi -h' "
                          "for help.\n",
                          printable(word), of),
              bad_argument);
}

SmiRequest refused(const std::vector<std::string>& argv, std::string_view what) {
  return says(fmt::format("{} can change the device, and berth only looks. Ask nvidia-smi itself, "
                          "usually: sudo /usr/bin/nvidia-smi{}\n",
                          what, words_behind(argv)),
              not_permitted);
}

SmiRequest unavailable(const std::vector<std::string>& argv, std::string_view what) {
  return says(fmt::format("{} is not shown by berth. Ask nvidia-smi itself, usually: "
                          "/usr/bin/nvidia-smi{}\n",
                          what, words_behind(argv)),
              not_available);
}

}  // namespace berth::smi
