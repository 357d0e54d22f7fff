#pragma once
// How much memory a model takes on each GPU, part by part. As a range, with the assumptions that it
// rests on. Pure arithmetic: nothing here looks at a machine.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/sentence.h"
#include "base/units.h"
#include "fit/model.h"

namespace berth {

enum class Optimizer { none, adam, adam8bit, sgd, sgd_momentum, adafactor };
enum class Adapter { none, lora, qlora };
enum class Sharding { none, zero1, zero2, zero3, tensor_parallel };

/// "none", "zero1", "zero2", "zero3", "fsdp" (the same as zero3), "tp".
[[nodiscard]] std::optional<Sharding> sharding_from_name(std::string_view name);
[[nodiscard]] std::string_view name_of(Sharding sharding);

/// How the model is used.
struct Workload {
  bool trains = false;
  Optimizer optimizer = Optimizer::none;
  Adapter adapter = Adapter::none;
  std::uint64_t rank = 16;  // of the adapters
  /// Nothing: as the weights are stored where what is asked for can be done in that, else bf16.
  std::optional<Precision> precision;
  /// The kind of int4. Nothing: as the model's config says, else any.
  std::optional<FourBits> four_bits = std::nullopt;
  bool mixed = false;  // FP32 master weights beside 16-bit products
  bool checkpointing = false;
  std::uint64_t batch = 1;        // sequences on one GPU at a time
  std::uint64_t sequence = 2048;  // tokens of each; in inference with what is generated
  std::uint64_t gpus = 1;
  Sharding sharding = Sharding::none;
};

/// "adam", "adamw", "adam8bit", "sgd", "sgd-momentum", "adafactor", "lora", "lora:8", "qlora:64"
/// into the workload. invalid: names what there is.
[[nodiscard]] Result<void> set_training(std::string_view text, Workload& workload);
/// "bf16", "int4", "awq" into it. invalid: names what there is.
[[nodiscard]] Result<void> set_precision(std::string_view text, Workload& workload);
/// "4096", "128k", "32K", "1m": as context lengths are named, k is 1024. invalid: none, or beyond
/// 16777216.
[[nodiscard]] Result<std::uint64_t> parse_token_count(std::string_view text);
/// What cannot be meant together.
[[nodiscard]] std::optional<Error> mistake_in(const Workload& workload);
/// Why nothing can be computed of this model. Its parameters are unknown, and the size of its files
/// does not tell them.
[[nodiscard]] std::optional<Error> mistake_in(const Model& model, const Workload& workload);

enum class MemoryPart {
  weights,
  master_weights,
  adapters,
  gradients,
  optimizer,
  activations,
  kv_cache,
  buckets,  // of data parallel training: gradients gathered for sending
  context,  // CUDA's own, and libraries' workspaces
  allocator,
};
[[nodiscard]] std::string_view name_of(MemoryPart part);

struct ByteRange {
  Bytes low, high;
  friend bool operator==(const ByteRange&, const ByteRange&) = default;
};
struct PartSize {
  MemoryPart part{};
  ByteRange size;
};
struct Assumption {
  Sentence text;
  std::string formula;  // may be empty
  std::string source;   // may be empty: it is berth's own
};

struct Estimate {
  std::vector<PartSize> parts;  // on each GPU; none of 0 bytes
  ByteRange total;
  bool at_least = false;  // a part is missing: how much it is at most is not known
  std::vector<Assumption> assumptions;
  /// What products are computed in: what a card has to have arithmetic of.
  Precision precision = Precision::bf16;

  [[nodiscard]] std::optional<ByteRange> of(MemoryPart part) const;
};

/// Without a shape activations and KV cache are missing (`at_least`), and an assumption says so. A
/// UNet keeps no KV cache. Saturates far
/// beyond any memory instead of wrapping. Of a model that mistake_in() refuses the weights are
/// missing.
[[nodiscard]] Estimate estimate(const Model& model, const Workload& workload);

enum class Verdict { fits, tight, too_small };
[[nodiscard]] std::string_view name_of(Verdict verdict);
/// tight: it depends on what in the estimate is a range.
[[nodiscard]] Verdict verdict_of(const ByteRange& need, Bytes room);

}  // namespace berth
