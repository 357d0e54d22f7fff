#include "fit/model.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "base/tr.h"
#include "snapshot/json.h"

namespace berth {

namespace {

struct KnownModel {
  std::string_view name;
  std::uint64_t parameters;
  ModelShape shape;
};

// Shapes as the models' own config.json have them.
constexpr std::array<KnownModel, 13> known_models = {{
    {"GPT-2", 124'439'808, {12, 768, 12, 12, 64, 50257}},
    {"GPT-2 medium", 354'823'168, {24, 1024, 16, 16, 64, 50257}},
    {"GPT-2 large", 774'030'080, {36, 1280, 20, 20, 64, 50257}},
    {"TinyLlama 1.1B", 1'100'048'384, {22, 2048, 32, 4, 64, 32000}},
    {"GPT-2 XL", 1'557'611'200, {48, 1600, 25, 25, 64, 50257}},
    {"Llama 3.2 3B", 3'212'749'824, {28, 3072, 24, 8, 128, 128256}},
    {"Llama 2 7B", 6'738'415'616, {32, 4096, 32, 32, 128, 32000}},
    {"Llama 3 8B", 8'030'261'248, {32, 4096, 32, 8, 128, 128256}},
    {"Llama 2 13B", 13'015'864'320, {40, 5120, 40, 40, 128, 32000}},
    {"Qwen2.5 32B", 32'763'876'352, {64, 5120, 40, 8, 128, 152064}},
    {"Llama 2 70B", 68'976'648'192, {80, 8192, 64, 8, 128, 32000}},
    {"GPT-3 175B", 175'000'000'000, {96, 12288, 96, 96, 128, 50257}},
    {"Llama 3.1 405B", 405'853'388'800, {126, 16384, 128, 8, 128, 128256}},
}};

std::optional<double> multiple_of(char letter) {
  switch (letter) {
    case 'k':
    case 'K':
      return 1e3;
    case 'm':
    case 'M':
      return 1e6;
    case 'b':
    case 'B':
    case 'g':
    case 'G':
      return 1e9;
    case 't':
    case 'T':
      return 1e12;
    default:
      return std::nullopt;
  }
}

}  // namespace

Result<std::uint64_t> parse_parameter_count(std::string_view text) {
  const auto refuse = [&] {
    return fail(ErrorCode::invalid,
                trf("\"{}\" is no number of parameters: write 7B, 350M, 1.1e9, or the path of a "
                    "config.json or of safetensors files",
                    cut_to_width(printable(text), 60, true)));
  };
  std::string_view digits = text;
  double multiple = 1;
  if (!digits.empty()) {
    if (const auto found = multiple_of(digits.back())) {
      multiple = *found;
      digits.remove_suffix(1);
    }
  }
  double number = 0;
  const char* const end = digits.data() + digits.size();
  const auto read = std::from_chars(digits.data(), end, number);
  if (digits.empty() || read.ec != std::errc() || read.ptr != end) return refuse();
  if (!std::isfinite(number)) return refuse();
  const double count = number * multiple;
  if (count < 1 || count > static_cast<double>(most_parameters)) {
    return fail(ErrorCode::invalid, trf("\"{}\": from 1 to 1000T parameters are computed with",
                                        cut_to_width(printable(text), 60, true)));
  }
  return static_cast<std::uint64_t>(std::llround(count));
}

Model model_of_size(std::uint64_t parameters) {
  const KnownModel* nearest = &known_models.front();
  const auto far = [&](const KnownModel& known) {
    return std::abs(std::log(static_cast<double>(known.parameters)) -
                    std::log(static_cast<double>(parameters)));
  };
  for (const KnownModel& known : known_models) {
    if (far(known) < far(*nearest)) nearest = &known;
  }
  return {
      .parameters = parameters, .shape = nearest->shape, .shape_like = std::string(nearest->name)};
}

// A Hugging Face config.json, and the parameters that follow from it.

namespace {

using ConfigJson = nlohmann::json;

// Products of four dimensions stay below 2^63 with these, and no model is near them.
constexpr std::uint64_t most_hidden = 1 << 18;
constexpr std::uint64_t most_inner = 1 << 20;
constexpr std::uint64_t most_layers = 1 << 12;
constexpr std::uint64_t most_experts = 1 << 10;
constexpr std::uint64_t most_words = 1 << 24;

/// What a family's layers are made of.
struct Family {
  std::string_view type;  // model_type
  enum class Kind { gated, gpt, bert } kind = Kind::gated;
  bool attention_bias = false;  // of query, key and value
  int norms_per_layer = 2;
  bool head_norms = false;  // of query and key, each of a head's size
  bool tied = false;        // by default
};

constexpr auto families = std::to_array<Family>({
    {.type = "llama"},
    {.type = "mistral"},
    {.type = "mixtral"},
    {.type = "phi3"},
    {.type = "qwen2", .attention_bias = true},
    {.type = "qwen3", .head_norms = true},
    {.type = "gemma", .tied = true},
    {.type = "gemma2", .norms_per_layer = 4, .tied = true},
    {.type = "gpt2", .kind = Family::Kind::gpt, .tied = true},
    {.type = "gpt_neox", .kind = Family::Kind::gpt},
    {.type = "opt", .kind = Family::Kind::gpt, .tied = true},
    {.type = "bert", .kind = Family::Kind::bert, .tied = true},
    {.type = "roberta", .kind = Family::Kind::bert, .tied = true},
});

/// Reads dimensions and remembers the first that is wrong.
class Dimensions {
 public:
  explicit Dimensions(const ConfigJson& config) : config_(config) {}

  std::optional<std::uint64_t> find(const char* key, std::uint64_t most) {
    const auto found = config_.find(key);
    if (found == config_.end() || found->is_null()) return std::nullopt;
    const auto number = number_in<std::uint64_t>(*found);
    if (!number || *number == 0 || *number > most) {
      if (problem_.empty()) problem_ = trf("its {} is no size of a model", key);
      return std::nullopt;
    }
    return number;
  }
  /// Under the first of the names that is there.
  std::uint64_t need(std::initializer_list<const char*> names, std::uint64_t most) {
    for (const char* name : names) {
      if (const auto value = find(name, most)) return *value;
    }
    if (problem_.empty()) problem_ = trf("it has no {}", *names.begin());
    return 1;
  }
  [[nodiscard]] bool flag(const char* key, bool otherwise) const {
    const auto found = config_.find(key);
    return found != config_.end() && found->is_boolean() ? found->get<bool>() : otherwise;
  }
  [[nodiscard]] const std::string& problem() const { return problem_; }

 private:
  const ConfigJson& config_;
  std::string problem_;
};

/// llama and what descends from it: RMS norms, a gated feed-forward part, maybe several of them.
std::uint64_t gated_parameters(const Family& family, const ModelShape& shape, Dimensions& from) {
  const std::uint64_t h = shape.hidden;
  const std::uint64_t inner = from.need({"intermediate_size"}, most_inner);
  const std::uint64_t queries = shape.heads * shape.head_size;
  const std::uint64_t keys = shape.kv_heads * shape.head_size;
  std::uint64_t layer = h * queries * 2 + h * keys * 2;
  if (family.attention_bias) {
    layer += queries + 2 * keys;
  } else if (from.flag("attention_bias", false)) {
    layer += queries + 2 * keys + h;
  }
  if (family.head_norms) layer += 2 * shape.head_size;
  std::uint64_t feed = 3 * h * inner;
  if (from.flag("mlp_bias", false)) feed += 2 * inner + h;
  if (family.type == "mixtral") {
    const std::uint64_t experts = from.need({"num_local_experts"}, most_experts);
    feed = experts * feed + experts * h;
  }
  layer += feed + static_cast<std::uint64_t>(family.norms_per_layer) * h;
  const std::uint64_t words = shape.vocabulary * h;
  const bool tied = from.flag("tie_word_embeddings", family.tied);
  return words * (tied ? 1 : 2) + shape.layers * layer + h;
}

/// gpt2, gpt_neox and opt: layer norms and biases everywhere.
std::uint64_t gpt_parameters(const Family& family, const ModelShape& shape, Dimensions& from) {
  const std::uint64_t h = shape.hidden;
  const auto given = family.type == "opt"    ? from.find("ffn_dim", most_inner)
                     : family.type == "gpt2" ? from.find("n_inner", most_inner)
                                             : from.find("intermediate_size", most_inner);
  const std::uint64_t inner = given.value_or(4 * h);
  const std::uint64_t layer = 4 * h * h + 4 * h + 2 * h * inner + inner + h + 4 * h;
  std::uint64_t places = 0;
  if (family.type == "gpt2") places = from.need({"n_positions", "n_ctx"}, most_words);
  // OPT's table of places has two rows in front.
  if (family.type == "opt") places = from.need({"max_position_embeddings"}, most_words) + 2;
  const bool tied = from.flag("tie_word_embeddings", family.tied);
  return shape.vocabulary * h * (tied ? 1 : 2) + places * h + shape.layers * layer + 2 * h;
}

std::uint64_t bert_parameters(const ModelShape& shape, Dimensions& from) {
  const std::uint64_t h = shape.hidden;
  const std::uint64_t inner = from.need({"intermediate_size"}, most_inner);
  const std::uint64_t places = from.need({"max_position_embeddings"}, most_words);
  const std::uint64_t types = from.need({"type_vocab_size"}, most_words);
  const std::uint64_t layer = 4 * h * h + 4 * h + 2 * h * inner + inner + h + 4 * h;
  const std::uint64_t pooler = h * h + h;
  return (shape.vocabulary + places + types) * h + 2 * h + shape.layers * layer + pooler;
}

std::string word_at(const ConfigJson& config, const char* key) {
  const auto found = config.find(key);
  return found != config.end() && found->is_string() ? found->get<std::string>() : "";
}

bool is_set(const ConfigJson& config, const char* key) {
  const auto found = config.find(key);
  return found != config.end() && found->is_boolean() && found->get<bool>();
}

/// Nothing: a way of quantising whose bits it does not tell in words known here.
std::optional<Precision> quantized_as(const ConfigJson& how) {
  if (!how.is_object()) return std::nullopt;
  if (is_set(how, "load_in_4bit")) return Precision::int4;
  if (is_set(how, "load_in_8bit")) return Precision::int8;
  if (word_at(how, "quant_method") == "fp8") return Precision::fp8;
  const auto bits = how.find("bits");  // GPTQ, AWQ
  const auto number = bits == how.end() ? std::nullopt : number_in<std::uint64_t>(*bits);
  if (number == 4) return Precision::int4;
  if (number == 8) return Precision::int8;
  return std::nullopt;
}

/// What it says its weights are kept in; nothing: it says nothing of it.
std::optional<Precision> precision_said(const ConfigJson& config) {
  const auto how = config.find("quantization_config");
  if (how != config.end()) {
    if (const auto quantized = quantized_as(*how)) return quantized;
  }
  std::string type = word_at(config, "torch_dtype");
  if (type.empty()) type = word_at(config, "dtype");  // as transformers 4.56 and newer call it
  if (type == "bfloat16") return Precision::bf16;
  if (type == "float16") return Precision::fp16;
  if (type == "float32") return Precision::fp32;
  return std::nullopt;
}

Result<Model> computed(const Family& family, const ConfigJson& config) {
  Dimensions from(config);
  ModelShape shape;
  shape.layers = from.need({"num_hidden_layers", "n_layer"}, most_layers);
  shape.hidden = from.need({"hidden_size", "n_embd"}, most_hidden);
  shape.heads = from.need({"num_attention_heads", "n_head"}, most_hidden);
  shape.kv_heads = from.find("num_key_value_heads", most_hidden).value_or(shape.heads);
  shape.head_size = from.find("head_dim", 4096).value_or(shape.hidden / shape.heads);
  shape.vocabulary = from.need({"vocab_size"}, most_words);
  if (shape.heads * shape.head_size > most_inner || shape.kv_heads > shape.heads) {
    return fail(ErrorCode::invalid, std::string(tr("its attention heads do not fit together")));
  }
  Model model{.name = std::string(family.type),
              .parameters = std::nullopt,
              .shape = shape,
              .shape_like = "",
              .encoder = family.kind == Family::Kind::bert};
  switch (family.kind) {
    case Family::Kind::gated:
      model.parameters = gated_parameters(family, shape, from);
      break;
    case Family::Kind::gpt:
      model.parameters = gpt_parameters(family, shape, from);
      break;
    case Family::Kind::bert:
      model.parameters = bert_parameters(shape, from);
      break;
  }
  model.stored_as = precision_said(config);
  if (!from.problem().empty()) return fail(ErrorCode::invalid, from.problem());
  if (model.parameters.value_or(0) > most_parameters) {
    return fail(ErrorCode::invalid, std::string(tr("its sizes are those of no model")));
  }
  return model;
}

}  // namespace

Result<Model> parse_model_config(std::string_view text) {
  if (nesting_depth(text) > 50) {
    return fail(ErrorCode::invalid, std::string(tr("it is nested too deep for a config.json")));
  }
  const ConfigJson config = ConfigJson::parse(text, nullptr, false);
  if (!config.is_object()) {
    return fail(ErrorCode::invalid, std::string(tr("it is no JSON object")));
  }
  const auto type = config.find("model_type");
  if (type == config.end() || !type->is_string()) {
    return fail(ErrorCode::invalid, std::string(tr("it has no model_type")));
  }
  const std::string wanted = type->get<std::string>();
  for (const Family& family : families) {
    if (family.type != wanted) continue;
    // A projection beside the embeddings (OPT 350M) is a shape of its own.
    const auto width = config.find("word_embed_proj_dim");
    if (width != config.end() && config.contains("hidden_size") &&
        *width != config["hidden_size"]) {
      break;
    }
    return computed(family, config);
  }
  return fail(
      ErrorCode::unsupported,
      trf("how many parameters a model of the family \"{}\" has is not known here: give the "
          "number (7B) or its safetensors files",
          cut_to_width(printable(wanted), 40, true)));
}

}  // namespace berth
