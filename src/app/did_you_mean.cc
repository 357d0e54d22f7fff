#include "app/did_you_mean.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/letters_apart.h"

namespace berth {

namespace {

using Known = std::pair<std::string_view, std::string_view>;

constexpr std::array<Known, 7> verbs_elsewhere = {{
    {"squeue", "queue"},
    {"jobs", "runs"},
    {"kill", "stop"},
    {"scancel", "stop"},
    {"release", "stop"},
    {"watch", "top"},
    {"ls", "status"},
}};

constexpr std::array<Known, 9> options_elsewhere = {{
    {"--gpus", "-n"},
    {"--num-gpus", "-n"},
    {"--ngpus", "-n"},
    {"--gpus-per-node", "-n"},
    {"--mem", "--memory"},
    {"--gpu-memory", "--memory"},
    {"--timeout", "--time"},
    {"--device", "--only"},
    {"--exclude", "--except"},
}};

template <std::size_t Count>
std::string_view known_as(const std::array<Known, Count>& words, std::string_view typed) {
  const auto found = std::ranges::find(words, typed, &Known::first);
  return found == words.end() ? std::string_view() : found->second;
}

}  // namespace

std::string_view nearest_of(std::string_view typed, const std::vector<std::string>& words) {
  constexpr std::size_t longest = 64;
  if (typed.size() > longest) return {};
  const std::size_t letters = typed.size() - std::min(typed.find_first_not_of('-'), typed.size());
  // A third of what was typed, and of a short word one letter: "ps" is not "pick".
  std::size_t most = std::max<std::size_t>(letters / 3, letters > 2 ? 1 : 0);
  std::string_view best;
  for (const std::string& word : words) {
    const std::size_t apart = letters_apart(typed, word);
    if (apart > most || (apart == most && !best.empty())) continue;
    best = word;
    most = apart;
  }
  return best;
}

std::string_view verb_called(std::string_view typed) { return known_as(verbs_elsewhere, typed); }
std::string_view option_called(std::string_view typed) {
  return known_as(options_elsewhere, typed.substr(0, typed.find('=')));
}

}  // namespace berth
