// links: berth_serve
// The file of tokens, and what an Authorization header says.

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "serve/principal.h"
#include "serve/tokens.h"

namespace fuzz_serve_tokens {

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  (void)berth::serve::token_in(text);
  (void)berth::serve::GroupBook(text, text).share_group(0, 1);
  const auto store = berth::serve::tokens_from_json(text);
  if (!store) return 0;
  const auto again = berth::serve::tokens_from_json(to_json(*store));
  BERTH_CHECK(again.has_value() && again->tokens() == store->tokens(),
              "tokens are read as they were written");
  return 0;
}

}  // namespace fuzz_serve_tokens
