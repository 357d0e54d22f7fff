// links: berth_base
// Sentences found again in the catalogue: the values in them are paths, names of devices, and what
// strangers wrote into their files.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/check.h"
#include "base/sentence.h"
#include "base/text.h"
#include "base/tr.h"

namespace fuzz_tr {

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  berth::set_language(berth::Language::english);
  BERTH_CHECK(berth::Sentence(text).shown() == text, "English is what it was composed in");

  berth::set_language(berth::Language::simplified_chinese);
  const std::string translated = berth::Sentence(text).shown();
  BERTH_CHECK(translated.empty() == text.empty(), "no sentence gets lost");
  BERTH_CHECK(translated.size() <= 8 * text.size() + 1000, "none grows without bound");
  const std::string safe = berth::printable(text);
  const std::string shown = safe == text ? translated : berth::Sentence(safe).shown();
  BERTH_CHECK(berth::printable(shown) == shown || safe.find('\\') != std::string::npos,
              "what was safe to print stays so");
  return 0;
}

}  // namespace fuzz_tr
