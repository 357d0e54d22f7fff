#pragma once
// The real texts in tests/data/logs: samples separated by "---", each with a first line that says
// what prints it. For tests only.

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

namespace berth {

inline std::filesystem::path log_corpus() {
  // __FILE__ may be relative to where the compiler ran, which is where the test program lies.
  const auto program = std::filesystem::read_symlink("/proc/self/exe").parent_path();
  return (program / __FILE__).parent_path() / "../../../tests/data/logs";
}

inline std::string corpus_file(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

struct LogSample {
  std::string from;
  std::string text;
};
inline std::vector<LogSample> samples_of(const std::string& code) {
  std::string rest = corpus_file(log_corpus() / (code + ".txt"));
  std::vector<LogSample> samples;
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find("\n---\n"), rest.size());
    const std::string one = rest.substr(0, end);
    const std::size_t line = std::min(one.find('\n'), one.size());
    samples.push_back({one.substr(0, line), one.substr(std::min(line + 1, one.size()))});
    rest.erase(0, std::min(end + 5, rest.size()));
  }
  return samples;
}

}  // namespace berth
