// Feeds a fuzz target, given by name, without libFuzzer. First each file of its corpus, then copies
// with a few bytes changed, always the same ones. Finds what a change broke; finding new ways to
// break things is ./dev fuzz's work.

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <string_view>
#include <vector>

struct Target {
  std::string_view name;
  int (*input)(const std::uint8_t* data, std::size_t size);
};
#include "replayed.inc"

namespace {

constexpr int changed_copies = 250;
constexpr std::size_t most_bytes_changed = 1
                                           << 20;  // over all copies, so that big files stay cheap
using namespace std::literals;

// With the zero byte: hence sv.
constexpr std::string_view telling =
    "\"{}[]:,-+.0e9\\\n\t\x00\x1b\x7f\x80\xc3\xef\xbc\x90\xe2\x80\x9c"sv;

void feed(const Target& target, const std::string& input) {
  // A copy of exactly this size, so that AddressSanitizer sees a read behind its end.
  const std::vector<std::uint8_t> exact(input.begin(), input.end());
  target.input(exact.data(), exact.size());
}

class Changer {
 public:
  std::string changed(std::string text, const std::string& other) {
    for (std::size_t times = 1 + below(4); times > 0; --times) change_once(text, other);
    return text;
  }
  std::size_t below(std::size_t limit) { return limit == 0 ? 0 : random_() % limit; }

 private:
  void change_once(std::string& text, const std::string& other) {
    const std::size_t at = below(text.size() + 1);
    switch (below(5)) {
      case 0:  // cut off
        text.resize(at);
        break;
      case 1:  // a telling byte put in
        text.insert(at, 1, telling[below(telling.size())]);
        break;
      case 2:  // one bit turned
        if (at < text.size()) text[at] = static_cast<char>(text[at] ^ (1 << below(8)));
        break;
      case 3:  // a piece left out
        text.erase(at, below(16));
        break;
      default:  // a piece of another file put in
        text.insert(at, other.substr(below(other.size() + 1), below(32)));
        break;
    }
  }

  std::mt19937 random_{20'260'101};  // a fixed seed: a failure is the same failure tomorrow
};

std::vector<std::string> read_corpus(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.is_regular_file()) names.push_back(entry.path());
  }
  std::sort(names.begin(), names.end());
  std::vector<std::string> texts;
  for (const auto& name : names) {
    std::ifstream file(name, std::ios::binary);
    texts.emplace_back(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
  }
  return texts;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: %s TARGET CORPUS\n", argv[0]);
    return 2;
  }
  const auto target = std::ranges::find(targets, std::string_view(argv[1]), &Target::name);
  if (target == std::end(targets)) {
    std::fprintf(stderr, "%s: there is no such target\n", argv[1]);
    return 2;
  }
  const std::vector<std::string> corpus = read_corpus(argv[2]);
  if (corpus.empty()) {
    std::fprintf(stderr, "%s: the corpus is empty\n", argv[2]);
    return 1;
  }
  feed(*target, "");
  for (const std::string& text : corpus) feed(*target, text);
  Changer changer;
  std::size_t bytes = 0;
  for (int i = 0; i < changed_copies && bytes < most_bytes_changed; ++i) {
    const std::string& text = corpus[changer.below(corpus.size())];
    const std::string input = changer.changed(text, corpus[changer.below(corpus.size())]);
    bytes += input.size();
    feed(*target, input);
  }
  return 0;
}
