// The words of a workload, and which of them go together.

#include <algorithm>
#include <array>
#include <utility>

#include "base/sentence.h"
#include "base/text.h"
#include "fit/estimate.h"

namespace berth {

namespace {

template <class T>
using WordList = std::pair<std::string_view, T>;

constexpr auto precisions = std::to_array<WordList<Precision>>({{"fp32", Precision::fp32},
                                                                {"tf32", Precision::tf32},
                                                                {"fp16", Precision::fp16},
                                                                {"bf16", Precision::bf16},
                                                                {"fp8", Precision::fp8},
                                                                {"int8", Precision::int8},
                                                                {"int4", Precision::int4}});
constexpr std::string_view llama_cpp = "llama.cpp, ggml-common.h and llama-quant.cpp";

// What a format keeps beside 4 bits a weight, in bits:
//   gptq, awq  a scale of 16 and a zero point of 4 for 128 weights
//   nf4        a scale of 32 for 64, or one of 8 with a second one for 256 scales
//   mxfp4      a scale of 8 for 32
//   mlx4       a scale and a bias of 16 each for 64
//   q4_0       a scale of 16 for 32
// Half of two matrices of Q4_K_M (value, and down, a third of all) have 6.5625 bits.
constexpr auto four_bit_formats = std::to_array<FourBits>({
    {"gptq", 4.15625, 4.15625, 16, 16, false, "Frantar et al. 2022 (GPTQ), groups of 128"},
    {"awq", 4.15625, 4.15625, 16, 16, false, "Lin et al. 2023 (AWQ), groups of 128"},
    {"nf4", 4.127, 4.5, 16, 16, false, "Dettmers et al. 2023 (QLoRA), bitsandbytes"},
    {"mxfp4", 4.25, 4.25, 16, 16, true, "OCP Microscaling Formats 1.0; gpt-oss"},
    {"mlx4", 4.5, 4.5, 4.5, 4.5, false, "MLX, mlx.core.quantize, groups of 64"},
    {"q4_0", 4.5, 4.5, 4.5, 6.5625, false, llama_cpp},
    {"q4_k_m", 4.8, 4.8, 4.5, 6.5625, false, llama_cpp},
});
constexpr auto shardings = std::to_array<WordList<Sharding>>({{"none", Sharding::none},
                                                              {"zero1", Sharding::zero1},
                                                              {"zero2", Sharding::zero2},
                                                              {"zero3", Sharding::zero3},
                                                              {"fsdp", Sharding::zero3},
                                                              {"tp", Sharding::tensor_parallel}});
constexpr auto optimizers =
    std::to_array<WordList<Optimizer>>({{"adam", Optimizer::adam},
                                        {"adamw", Optimizer::adam},
                                        {"adam8bit", Optimizer::adam8bit},
                                        {"sgd", Optimizer::sgd},
                                        {"sgd-momentum", Optimizer::sgd_momentum},
                                        {"adafactor", Optimizer::adafactor}});

template <class T, std::size_t Size>
std::optional<T> found(const std::array<WordList<T>, Size>& list, std::string_view name) {
  for (const auto& [word, value] : list) {
    if (word == name) return value;
  }
  return std::nullopt;
}

template <class T, std::size_t Size>
std::string_view word_for(const std::array<WordList<T>, Size>& list, T wanted) {
  for (const auto& [word, value] : list) {
    if (value == wanted) return word;
  }
  return "";
}

}  // namespace

std::optional<Precision> precision_from_name(std::string_view name) {
  return found(precisions, name);
}
std::optional<FourBits> four_bits_called(std::string_view name) {
  const auto* const format = std::ranges::find(four_bit_formats, name, &FourBits::name);
  if (format == four_bit_formats.end()) return std::nullopt;
  return *format;
}
std::string_view name_of(Precision precision) { return word_for(precisions, precision); }
std::optional<Sharding> sharding_from_name(std::string_view name) { return found(shardings, name); }
std::string_view name_of(Sharding sharding) { return word_for(shardings, sharding); }

std::string_view name_of(MemoryPart part) {
  switch (part) {
    case MemoryPart::weights:
      return "weights";
    case MemoryPart::master_weights:
      return "master_weights";
    case MemoryPart::adapters:
      return "adapters";
    case MemoryPart::gradients:
      return "gradients";
    case MemoryPart::optimizer:
      return "optimizer";
    case MemoryPart::activations:
      return "activations";
    case MemoryPart::kv_cache:
      return "kv_cache";
    case MemoryPart::buckets:
      return "buckets";
    case MemoryPart::context:
      return "context";
    case MemoryPart::allocator:
      return "allocator";
  }
  return "";
}

std::string_view name_of(Verdict verdict) {
  switch (verdict) {
    case Verdict::fits:
      return "fits";
    case Verdict::tight:
      return "tight";
    case Verdict::too_small:
      return "too_small";
  }
  return "";
}

Result<void> set_training(std::string_view text, Workload& workload) {
  workload.trains = true;
  const auto optimizer = found(optimizers, text);
  if (optimizer) {
    workload.optimizer = *optimizer;
    return {};
  }
  const std::size_t colon = text.find(':');
  const std::string_view name = text.substr(0, colon);
  const auto rank = colon == std::string_view::npos ? std::optional<std::uint64_t>(16)
                                                    : parse_unsigned(text.substr(colon + 1));
  if ((name != "lora" && name != "qlora") || !rank || *rank == 0 || *rank > 4096) {
    return fail(ErrorCode::invalid,
                "--train \"{}\": there are adam, adamw, adam8bit, sgd, sgd-momentum, adafactor, "
                "lora, lora:RANK, qlora and qlora:RANK",
                cut_to_width(printable(text), 40, true));
  }
  workload.adapter = name == "lora" ? Adapter::lora : Adapter::qlora;
  workload.rank = *rank;
  return {};
}

Result<void> set_precision(std::string_view text, Workload& workload) {
  workload.four_bits = four_bits_called(text);
  workload.precision = workload.four_bits ? Precision::int4 : precision_from_name(text);
  if (workload.precision) return {};
  return fail(ErrorCode::invalid,
              "--dtype \"{}\": there are fp32, tf32, bf16, fp16, fp8, int8, int4, gptq, awq, nf4, "
              "mxfp4, mlx4, q4_0 and q4_k_m",
              cut_to_width(printable(text), 40, true));
}

Result<std::uint64_t> parse_token_count(std::string_view text) {
  constexpr std::uint64_t most = 1 << 24;
  std::string_view digits = text;
  std::uint64_t multiple = 1;
  const char last = text.empty() ? ' ' : text.back();
  if (last == 'k' || last == 'K') multiple = 1 << 10;
  if (last == 'm' || last == 'M') multiple = 1 << 20;
  if (multiple > 1) digits.remove_suffix(1);
  const auto count = parse_unsigned(digits);
  if (!count || *count == 0 || *count > most / multiple) {
    return fail(ErrorCode::invalid,
                "\"{}\" is no number of tokens: write 4096, 128k or 1m, at most 16m",
                cut_to_width(printable(text), 40, true));
  }
  return *count * multiple;
}

std::optional<Error> mistake_in(const Workload& workload) {
  const bool small = workload.precision && *workload.precision >= Precision::fp8;
  if (workload.trains && small) {
    return Error(ErrorCode::invalid,
                 "--dtype: nothing is trained with weights of 8 or 4 bits alone. Write bf16, or "
                 "--train qlora for frozen 4-bit weights");
  }
  if (workload.mixed && !workload.trains)
    return Error(ErrorCode::invalid, "--mixed goes with --train");
  if (workload.mixed && workload.adapter != Adapter::none) {
    return Error(ErrorCode::invalid,
                 "--mixed: adapters are trained in FP32 already; leave it away");
  }
  const bool wide = workload.precision && (*workload.precision == Precision::fp32 ||
                                           *workload.precision == Precision::tf32);
  if (workload.mixed && wide) {
    return Error(ErrorCode::invalid, "--mixed goes with --dtype bf16 or fp16");
  }
  if (workload.checkpointing && !workload.trains) {
    return Error(ErrorCode::invalid, "--checkpointing goes with --train");
  }
  if (workload.sharding != Sharding::none && workload.gpus < 2) {
    return Error(ErrorCode::invalid, "--shard goes with --gpus 2 or more");
  }
  const bool optimizer_only =
      workload.sharding == Sharding::zero1 || workload.sharding == Sharding::zero2;
  if (optimizer_only && !workload.trains) {
    return Error(ErrorCode::invalid,
                 "--shard zero1 and zero2 divide what training alone has; write zero3 or tp");
  }
  return std::nullopt;
}

std::optional<Error> mistake_in(const Model& model, const Workload& workload) {
  const bool own_shape = model.shape && model.shape_like.empty();
  if (workload.sharding == Sharding::tensor_parallel && own_shape &&
      model.shape->heads % workload.gpus != 0) {
    return Error(ErrorCode::invalid,
                 "--shard tp: {} attention heads cannot be divided among {} GPUs: --gpus must "
                 "divide their number",
                 model.shape->heads, workload.gpus);
  }
  const bool as_stored = model.stored_bytes && !workload.precision && !workload.trains;
  if (model.parameters || as_stored) return std::nullopt;
  return Error(ErrorCode::invalid,
               "how many parameters these files hold is not known, as several are packed into a "
               "word. Put the model's config.json beside them, or give the number (7B)");
}

}  // namespace berth
