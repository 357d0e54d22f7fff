// links: berth_run
// Command lines of container engines, a word a line, and what their `inspect` prints.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/check.h"
#include "base/text.h"
#include "run/container/engine.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  (void)berth::parse_inspected(text);
  std::vector<std::string> words;
  for (const std::string_view word : berth::split(text, '\n')) words.emplace_back(word);
  const auto read = berth::read_container_command(words);
  if (!read || !*read) return 0;
  const berth::ContainerCommand& command = **read;
  BERTH_CHECK(command.image <= words.size(), "the image is a word, or there is none");
  std::vector<const berth::ContainerOption*> all;
  for (const berth::ContainerOption& option : command.options) {
    BERTH_CHECK(option.word > command.act && option.word < command.image,
                "an option stands between run and the image");
    all.push_back(&option);
  }
  const auto left = berth::without_options(command, all);
  BERTH_CHECK(left.size() <= words.size(), "nothing is made up");
  const auto tail = static_cast<std::ptrdiff_t>(words.size() - command.image);
  BERTH_CHECK(std::equal(words.end() - tail, words.end(), left.end() - tail),
              "what follows the image stays as it is");
  return 0;
}
