#pragma once
// Model: what of a neural network its memory depends on. Read from what a person writes ("7B"),
// from a Hugging Face config.json, or from the headers of safetensors files. All of these are
// hostile until they are in here: counts are bounded, so that sums of products of them fit.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace berth {

// Precision: the types that weights are stored in and products are computed in.

enum class Precision { fp32, tf32, fp16, bf16, fp8, int8, int4 };

[[nodiscard]] std::optional<Precision> precision_from_name(std::string_view name);
[[nodiscard]] std::string_view name_of(Precision precision);

/// How weights of 4 bits are stored. A weight takes more than 4: a group of them has a scale, and
/// maybe a zero point. What a format leaves wider are the embeddings at both ends.
struct FourBits {
  std::string_view name;  // as --dtype has it; empty: 4 bits of any kind
  double least = 4.125;   // bits of a weight, with its share of scales and zero points
  double most = 4.5;
  double embedding = 16;         // bits of those at the beginning
  double head = 16;              // of those at the end; where they are tied, of both
  bool keeps_attention = false;  // attention stays in 16 bits
  std::string_view source = "Frantar et al. 2022 (GPTQ); Dettmers et al. 2023 (QLoRA)";
  friend bool operator==(const FourBits&, const FourBits&) = default;
};

/// "gptq", "awq", "nf4", "mxfp4", "mlx4", "q4_0", "q4_k_m", with the groups that each has usually.
[[nodiscard]] std::optional<FourBits> four_bits_called(std::string_view name);

/// A transformer's dimensions.
struct ModelShape {
  std::uint64_t layers = 0;
  std::uint64_t hidden = 0;
  std::uint64_t heads = 0;
  std::uint64_t kv_heads = 0;  // fewer than heads where several share one
  std::uint64_t head_size = 0;
  std::uint64_t vocabulary = 0;
  friend bool operator==(const ModelShape&, const ModelShape&) = default;
};

/// What is kept of a token where it is not all keys and values of every layer.
struct CacheForm {
  std::uint64_t latent = 0;           // numbers instead of a layer's keys and values (MLA); 0: none
  std::uint64_t windowed_layers = 0;  // these keep no more tokens than the window
  std::uint64_t window = 0;
  bool crosses = false;           // the decoder keeps what it attends to of an encoder too
  std::uint64_t read_tokens = 0;  // of that encoder, always as many; 0: as many as are given
};

struct Model {
  std::string name;
  std::optional<std::uint64_t> parameters;  // nothing: several are packed into a stored word
  std::optional<ModelShape> shape;          // nothing: not known
  /// The known model that the shape is borrowed from; empty: it is the model's own.
  std::string shape_like;
  /// The weights as they are stored; nothing: not stored anywhere that was looked at.
  std::optional<std::uint64_t> stored_bytes = std::nullopt;
  /// The type of most stored weights that are not packed. The config's word where no weights were
  /// looked at. Nothing: it is not said, or is no type that is computed with.
  std::optional<Precision> stored_as = std::nullopt;
  /// The format of 4 bits, where the config names it. Nothing: it does not.
  std::optional<FourBits> four_bits = std::nullopt;
  /// It reads all of its tokens at once and keeps no keys and values of earlier ones (BERT).
  bool encoder = false;
  CacheForm cache = {};
  bool tied = false;  // the embeddings at its end are those at its beginning
};

inline constexpr std::uint64_t most_parameters = 1'000'000'000'000'000;

/// "7B", "350M", "1.1e9", "1.5T", "6738415616". invalid: says what a count looks like.
[[nodiscard]] Result<std::uint64_t> parse_parameter_count(std::string_view text);

/// By the count alone, with the shape of the known model that is nearest in size.
[[nodiscard]] Model model_of_size(std::uint64_t parameters);

/// From the text of a config.json. unsupported: a family whose parameters cannot be computed here,
/// which it names; invalid: not JSON, a key missing, or a dimension beyond what exists.
[[nodiscard]] Result<Model> parse_model_config(std::string_view text);

}  // namespace berth
