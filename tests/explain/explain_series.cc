// explain_series FILE…: one line of JSON per file and setting of the thresholds. It has the rules
// that find something, the answer first.

#include <cstdio>
#include <fstream>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "diagnose/bottleneck/activity_json.h"
#include "diagnose/bottleneck/bottleneck.h"

namespace {

using berth::bottleneck::Thresholds;

constexpr double steps[] = {1.3, 0.7};
constexpr const char* step_names[] = {"+30 %", "-30 %"};

std::vector<std::pair<std::string, Thresholds>> settings() {
  std::vector<std::pair<std::string, Thresholds>> all = {{"as they are", {}}};
  for (int i = 0; i < 2; ++i) {
    Thresholds moved;
    for (const auto& one : berth::bottleneck::threshold_names) moved.*one.value *= steps[i];
    all.emplace_back(std::string("all ") + step_names[i], moved);
  }
  for (const auto& one : berth::bottleneck::threshold_names) {
    for (int i = 0; i < 2; ++i) {
      Thresholds moved;
      moved.*one.value *= steps[i];
      all.emplace_back(std::string(one.name) + " " + step_names[i], moved);
    }
  }
  return all;
}

}  // namespace

int main(int count, char** words) {
  const auto all = settings();
  for (int i = 1; i < count; ++i) {
    std::ifstream file(words[i], std::ios::binary);
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    const auto activity = berth::bottleneck::activity_from_lines(text);
    if (!activity) {
      std::fprintf(stderr, "%s: %s\n", words[i], activity.error().message().c_str());
      return 1;
    }
    for (const auto& [name, thresholds] : all) {
      std::string rules;
      for (const auto& finding :
           berth::bottleneck::explain_bottleneck(*activity, thresholds).findings) {
        rules += (rules.empty() ? "\"" : ", \"") + finding.rule + "\"";
      }
      std::printf("{\"thresholds\": \"%s\", \"rules\": [%s]}\n", name.c_str(), rules.c_str());
    }
  }
  return 0;
}
