#pragma once
// How many parameters follow from the dimensions of a config.json, family by family.

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>

#include "base/json.h"
#include "fit/model.h"

namespace berth {

// Products of four dimensions stay below 2^63 with these, and no model is near them.
inline constexpr std::uint64_t most_hidden = 1 << 18;
inline constexpr std::uint64_t most_inner = 1 << 20;
inline constexpr std::uint64_t most_layers = 1 << 12;
inline constexpr std::uint64_t most_experts = 1 << 10;
inline constexpr std::uint64_t most_words = 1 << 24;

/// What a family's layers are made of.
struct Family {
  std::string_view type;  // model_type
  enum class Kind { gated, gpt, bert, latent, falcon, phi, t5, whisper, vit } kind = Kind::gated;
  bool attention_bias = false;  // of query, key and value
  int norms_per_layer = 2;
  bool head_norms = false;  // of query and key, each of a head's size
  bool tied = false;        // by default
  /// One layer in so many attends to all tokens, the others to a window; 0: all do.
  std::uint64_t full_layer_each = 0;
  /// What it takes where the file leaves it out.
  ModelShape otherwise = {};
};

/// Reads dimensions and remembers the first that is wrong.
class Dimensions {
 public:
  explicit Dimensions(const ForeignJson& config) : config_(config) {}

  std::optional<std::uint64_t> find(const char* key, std::uint64_t most);
  /// Under the first of the names that is there.
  std::uint64_t need(std::initializer_list<const char*> names, std::uint64_t most,
                     std::uint64_t otherwise = 0);
  /// As find(), and 0 is a number too: none of it.
  std::uint64_t count(const char* key, std::uint64_t most, std::uint64_t otherwise);
  [[nodiscard]] bool flag(const char* key, bool otherwise) const;
  /// Empty: there is none.
  [[nodiscard]] std::string word(const char* key) const;
  /// How many words of a list are this one; nothing: there is no such list.
  [[nodiscard]] std::optional<std::uint64_t> words(const char* key, std::string_view word) const;
  [[nodiscard]] const Sentence& problem() const { return problem_; }

 private:
  const ForeignJson& config_;
  Sentence problem_;
};

[[nodiscard]] std::uint64_t parameters_of(const Family& family, const ModelShape& shape,
                                          Dimensions& from);
/// What a vision_config describes: patches, layers of attention with biases.
[[nodiscard]] std::uint64_t vision_parameters(Dimensions& from);
/// Stable Diffusion's UNet as diffusers writes it. Nothing: a key is missing or of another make.
[[nodiscard]] std::optional<std::uint64_t> unet_parameters(const ForeignJson& config);

}  // namespace berth
