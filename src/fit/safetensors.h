#pragma once
// The headers of safetensors files: 8 bytes of length (little endian), then JSON with each tensor's
// type, shape and place. Source: huggingface/safetensors, README, "Format".

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "fit/model.h"

namespace berth {

struct StoredTensors {
  std::uint64_t elements = 0;
  std::uint64_t bytes = 0;
  /// Some elements are words with several quantised weights in each.
  bool packed = false;
  std::map<std::string, std::uint64_t> bytes_of_type;  // "BF16", "F32", …

  /// Nothing: `packed`, and how many weights are in a word is not said.
  [[nodiscard]] std::optional<std::uint64_t> parameters() const;
  /// What most bytes are kept in, of those that are no packed words; nothing: in no type that is
  /// computed with.
  [[nodiscard]] std::optional<Precision> prevailing() const;
  /// Adds those of another file. False: the sum is beyond any model, and nothing was added.
  [[nodiscard]] bool add(const StoredTensors& other);
};

inline constexpr std::uint64_t longest_safetensors_header = 100'000'000;  // the format's own limit

/// The length that the first 8 bytes give. invalid: fewer bytes, or longer than the format allows
/// or than the file.
[[nodiscard]] Result<std::uint64_t> safetensors_header_length(std::string_view first_bytes,
                                                              std::uint64_t file_size);
/// From the header's JSON. invalid: not as the format is, or places beyond `data_size`.
[[nodiscard]] Result<StoredTensors> parse_safetensors_header(std::string_view json,
                                                             std::uint64_t data_size);
/// The files that a model.safetensors.index.json names, each once. invalid: no index, or a name
/// that leads out of its folder.
[[nodiscard]] Result<std::vector<std::string>> parse_safetensors_index(std::string_view json);
/// What all of its files hold together, as the index says. Nothing: it does not say it.
[[nodiscard]] std::optional<std::uint64_t> total_size_in_index(std::string_view json);

}  // namespace berth
