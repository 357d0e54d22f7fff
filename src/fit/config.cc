// A Hugging Face config.json: which family it is of, its shape, and what it keeps of a token.

#include <algorithm>
#include <array>

#include "base/sentence.h"
#include "base/text.h"
#include "fit/parameters.h"

namespace berth {

namespace {

using Kind = Family::Kind;

// What is left out is as transformers' own defaults have it.
constexpr auto families = std::to_array<Family>({
    {.type = "llama"},
    {.type = "mistral"},
    {.type = "mixtral"},
    {.type = "phi3"},
    {.type = "qwen2", .attention_bias = true},
    {.type = "qwen3", .head_norms = true},
    {.type = "qwen3_moe", .head_norms = true},
    {.type = "gemma", .tied = true},
    {.type = "gemma2", .norms_per_layer = 4, .tied = true, .full_layer_each = 2},
    {.type = "gemma3_text",
     .norms_per_layer = 4,
     .head_norms = true,
     .tied = true,
     .full_layer_each = 6,
     .otherwise = {26, 2304, 8, 4, 256, 262208}},
    {.type = "gpt_oss", .full_layer_each = 2},
    {.type = "llama4_text", .full_layer_each = 4},
    {.type = "deepseek_v3", .kind = Kind::latent},
    {.type = "falcon", .kind = Kind::falcon, .tied = true},
    {.type = "phi", .kind = Kind::phi},
    {.type = "t5", .kind = Kind::t5, .tied = true},
    {.type = "whisper", .kind = Kind::whisper, .tied = true},
    {.type = "vit", .kind = Kind::vit},
    {.type = "gpt2", .kind = Kind::gpt, .tied = true},
    {.type = "gpt_neox", .kind = Kind::gpt},
    {.type = "opt", .kind = Kind::gpt, .tied = true},
    {.type = "bert", .kind = Kind::bert, .tied = true},
    {.type = "roberta", .kind = Kind::bert, .tied = true},
});

std::string word_at(const ForeignJson& config, const char* key) {
  const auto found = config.find(key);
  return found != config.end() && found->is_string() ? found->get<std::string>() : "";
}

bool is_set(const ForeignJson& config, const char* key) {
  const auto found = config.find(key);
  return found != config.end() && found->is_boolean() && found->get<bool>();
}

/// Nothing: no such key, or of another kind.
const ForeignJson* object_at(const ForeignJson& config, const char* key) {
  const auto found = config.find(key);
  return found != config.end() && found->is_object() ? &*found : nullptr;
}

std::optional<std::uint64_t> number_at(const ForeignJson& config, const char* key) {
  const auto found = config.find(key);
  return found == config.end() ? std::nullopt : number_in<std::uint64_t>(*found);
}

/// compressed-tensors (LLM Compressor) says it of groups of layers; the first is that of most.
const ForeignJson* weights_of_groups(const ForeignJson& how) {
  const ForeignJson* const groups = object_at(how, "config_groups");
  const ForeignJson* const first = groups == nullptr ? nullptr : object_at(*groups, "group_0");
  return first == nullptr ? nullptr : object_at(*first, "weights");
}

/// Nothing: a way of quantising whose bits it does not tell in words known here.
std::optional<Precision> quantized_as(const ForeignJson& how) {
  if (!how.is_object()) return std::nullopt;
  if (is_set(how, "load_in_4bit")) return Precision::int4;
  if (is_set(how, "load_in_8bit")) return Precision::int8;
  if (word_at(how, "quant_method") == "fp8") return Precision::fp8;
  if (word_at(how, "quant_method") == "mxfp4") return Precision::int4;
  const ForeignJson* const weights = weights_of_groups(how);
  const auto number = weights != nullptr ? number_at(*weights, "num_bits")
                                         : number_at(how, "bits");  // GPTQ, AWQ, MLX
  if (number == 4) return Precision::int4;
  if (number == 8) return Precision::int8;
  return std::nullopt;
}

/// Nothing: not of 4 bits, or it does not say how.
std::optional<FourBits> four_bits_in(const ForeignJson& config) {
  const auto with_bits = [](std::string_view name, double bits) {
    auto form = four_bits_called(name);
    if (form) form->least = form->most = bits;
    return form;
  };
  /// The share of a group. Nothing: no number that a group has.
  const auto share = [](const ForeignJson& of, double bits) -> std::optional<double> {
    const auto size = number_at(of, "group_size");
    if (!size || *size == 0 || *size > most_inner) return std::nullopt;
    return bits / static_cast<double>(*size);
  };
  if (const ForeignJson* const mlx = object_at(config, "quantization")) {
    const auto more = share(*mlx, 32);
    if (number_at(*mlx, "bits") != 4 || !more) return std::nullopt;
    auto form = with_bits("mlx4", 4 + *more);
    if (form) form->embedding = form->head = 4 + *more;
    return form;
  }
  const ForeignJson* const how = object_at(config, "quantization_config");
  if (how == nullptr || quantized_as(*how) != Precision::int4) return std::nullopt;
  const std::string method = word_at(*how, "quant_method");
  if (method == "mxfp4") return four_bits_called(method);
  if (is_set(*how, "load_in_4bit")) {
    return with_bits("nf4", is_set(*how, "bnb_4bit_use_double_quant") ? 4.127 : 4.5);
  }
  if (const ForeignJson* const weights = weights_of_groups(*how)) {
    const auto more = share(*weights, is_set(*weights, "symmetric") ? 16 : 20);
    return more ? with_bits("gptq", 4 + *more) : std::nullopt;
  }
  const auto more = share(*how, 20);
  const bool known = method == "gptq" || method == "awq";
  return known && more ? with_bits(method, 4 + *more) : std::nullopt;
}

/// What it says its weights are kept in; nothing: it says nothing of it.
std::optional<Precision> precision_said(const ForeignJson& config) {
  for (const char* key : {"quantization_config", "quantization"}) {
    const auto how = config.find(key);
    const auto quantized = how == config.end() ? std::nullopt : quantized_as(*how);
    if (quantized) return quantized;
  }
  std::string type = word_at(config, "torch_dtype");
  if (type.empty()) type = word_at(config, "dtype");  // as transformers 4.56 and newer call it
  if (type == "bfloat16") return Precision::bf16;
  if (type == "float16") return Precision::fp16;
  if (type == "float32") return Precision::fp32;
  return std::nullopt;
}

ModelShape shape_of(const Family& family, Dimensions& from) {
  const ModelShape& usual = family.otherwise;
  ModelShape shape;
  shape.layers = from.need({"num_hidden_layers", "n_layer"}, most_layers, usual.layers);
  shape.hidden = from.need({"hidden_size", "n_embd"}, most_hidden, usual.hidden);
  shape.heads = from.need({"num_attention_heads", "n_head"}, most_hidden, usual.heads);
  shape.kv_heads = from.find("num_key_value_heads", most_hidden)
                       .value_or(usual.kv_heads > 0 ? usual.kv_heads : shape.heads);
  shape.head_size =
      from.find("head_dim", 4096)
          .value_or(usual.head_size > 0 ? usual.head_size : shape.hidden / shape.heads);
  // The config does not tell an image's classes.
  shape.vocabulary =
      family.kind == Kind::vit ? 1 : from.need({"vocab_size"}, most_words, usual.vocabulary);
  if (family.kind == Kind::falcon) {
    const bool grouped = from.flag("new_decoder_architecture", false);
    const std::uint64_t kept = from.find("num_kv_heads", most_hidden).value_or(shape.heads);
    shape.kv_heads = grouped ? kept : from.flag("multi_query", true) ? 1 : shape.heads;
  }
  return shape;
}

/// Those that read with an encoder name everything otherwise; the shape is the decoder's.
ModelShape decoder_of(const Family& family, Dimensions& from) {
  const bool listens = family.kind == Kind::whisper;
  ModelShape shape;
  shape.hidden = from.need({"d_model"}, most_hidden);
  shape.heads = from.need({listens ? "decoder_attention_heads" : "num_heads"}, most_hidden);
  shape.kv_heads = shape.heads;
  shape.head_size = listens ? shape.hidden / shape.heads : from.need({"d_kv"}, 4096);
  shape.layers = listens ? from.need({"decoder_layers"}, most_layers)
                         : from.need({"num_decoder_layers", "num_layers"}, most_layers);
  shape.vocabulary = from.need({"vocab_size"}, most_words);
  return shape;
}

CacheForm cache_of(const Family& family, const ModelShape& shape, Dimensions& from) {
  CacheForm cache;
  if (family.kind == Kind::latent) {
    cache.latent = from.need({"kv_lora_rank"}, most_inner) + from.need({"qk_rope_head_dim"}, 4096);
  }
  cache.crosses = family.kind == Kind::t5 || family.kind == Kind::whisper;
  if (family.kind == Kind::whisper) {
    cache.read_tokens = from.need({"max_source_positions"}, most_words, 1500);
  }
  if (family.full_layer_each == 0) return cache;
  const bool chunked = family.type == "llama4_text";
  const auto window = from.find(chunked ? "attention_chunk_size" : "sliding_window", most_words);
  if (!window) return cache;
  const auto pattern = from.find("sliding_window_pattern", most_layers);
  const std::uint64_t each = pattern.value_or(family.full_layer_each);
  const auto listed =
      from.words("layer_types", chunked ? "chunked_attention" : "sliding_attention");
  cache.windowed_layers =
      std::min(listed.value_or(shape.layers - shape.layers / each), shape.layers);
  cache.window = *window;
  return cache;
}

Result<Model> computed(const Family& family, const ForeignJson& config) {
  Dimensions from(config);
  const bool crosses = family.kind == Kind::t5 || family.kind == Kind::whisper;
  const ModelShape shape = crosses ? decoder_of(family, from) : shape_of(family, from);
  if (shape.heads * shape.head_size > most_inner || shape.kv_heads > shape.heads) {
    return fail(ErrorCode::invalid, "its attention heads do not fit together");
  }
  Model model{.name = std::string(family.type),
              .parameters = parameters_of(family, shape, from),
              .shape = shape,
              .shape_like = "",
              .encoder = family.kind == Kind::bert || family.kind == Kind::vit,
              .cache = cache_of(family, shape, from),
              .tied = from.flag("tie_word_embeddings", family.tied)};
  model.stored_as = precision_said(config);
  model.four_bits = four_bits_in(config);
  if (!from.problem().empty()) return fail(ErrorCode::invalid, from.problem());
  if (model.parameters.value_or(0) > most_parameters) {
    return fail(ErrorCode::invalid, "its sizes are those of no model");
  }
  return model;
}

const Family* family_called(std::string_view type) {
  for (const Family& family : families) {
    if (family.type == type) return &family;
  }
  return nullptr;
}

Error unknown_family(std::string_view type) {
  return Error(ErrorCode::unsupported,
               "how many parameters a model of the family \"{}\" has is not known here. Give the "
               "number (7B) or its safetensors files",
               cut_to_width(printable(type), 40, true));
}

/// Text and images: what reads the images is counted beside the rest.
Result<Model> of_two_parts(const ForeignJson& config, const std::string& type) {
  const ForeignJson& text = config["text_config"];
  const Family* family = family_called(type + "_text");
  if (family == nullptr) return std::unexpected(unknown_family(type));
  auto model = computed(*family, text);
  if (!model) return model;
  if (!model->stored_as) model->stored_as = precision_said(config);
  if (!model->four_bits) model->four_bits = four_bits_in(config);
  const auto images = config.find("vision_config");
  if (images == config.end() || !images->is_object()) return model;
  Dimensions from(*images);
  const std::uint64_t count = vision_parameters(from);
  if (from.problem().empty() && count < most_parameters) *model->parameters += count;
  return model;
}

}  // namespace

Result<Model> parse_model_config(std::string_view text) {
  const ForeignJson config = parse_foreign_json(text);
  if (!config.is_object()) {
    return fail(ErrorCode::invalid, "it is no JSON object");
  }
  if (word_at(config, "_class_name") == "UNet2DConditionModel") {
    const auto count = unet_parameters(config);
    if (!count) return std::unexpected(unknown_family("UNet2DConditionModel"));
    return Model{.name = "UNet2DConditionModel",
                 .parameters = count,
                 .shape = std::nullopt,
                 .shape_like = "",
                 .encoder = true};
  }
  const auto type = config.find("model_type");
  if (type == config.end() || !type->is_string()) {
    return fail(ErrorCode::invalid, "it has no model_type");
  }
  const std::string wanted = type->get<std::string>();
  const auto inner = config.find("text_config");
  if (inner != config.end() && inner->is_object()) return of_two_parts(config, wanted);
  const Family* family = family_called(wanted);
  // A projection beside the embeddings (OPT 350M) is a shape of its own.
  const auto width = config.find("word_embed_proj_dim");
  const bool projects =
      width != config.end() && config.contains("hidden_size") && *width != config["hidden_size"];
  if (family == nullptr || projects) return std::unexpected(unknown_family(wanted));
  return computed(*family, config);
}

}  // namespace berth
