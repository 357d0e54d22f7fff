#include "fit/parameters.h"

#include <algorithm>
#include <vector>

namespace berth {

std::optional<std::uint64_t> Dimensions::find(const char* key, std::uint64_t most) {
  const auto found = config_.find(key);
  if (found == config_.end() || found->is_null()) return std::nullopt;
  const auto number = number_in<std::uint64_t>(*found);
  if (!number || *number == 0 || *number > most) {
    if (problem_.empty()) problem_ = sentence("its {} is no size of a model", key);
    return std::nullopt;
  }
  return number;
}

std::uint64_t Dimensions::need(std::initializer_list<const char*> names, std::uint64_t most,
                               std::uint64_t otherwise) {
  for (const char* name : names) {
    if (const auto value = find(name, most)) return *value;
  }
  if (otherwise > 0) return otherwise;
  if (problem_.empty()) problem_ = sentence("it has no {}", *names.begin());
  return 1;
}

std::uint64_t Dimensions::count(const char* key, std::uint64_t most, std::uint64_t otherwise) {
  const auto found = config_.find(key);
  if (found != config_.end() && *found == 0) return 0;
  return find(key, most).value_or(otherwise);
}

bool Dimensions::flag(const char* key, bool otherwise) const {
  const auto found = config_.find(key);
  return found != config_.end() && found->is_boolean() ? found->get<bool>() : otherwise;
}

std::string Dimensions::word(const char* key) const {
  const auto found = config_.find(key);
  return found != config_.end() && found->is_string() ? found->get<std::string>() : "";
}

std::optional<std::uint64_t> Dimensions::words(const char* key, std::string_view word) const {
  const auto found = config_.find(key);
  if (found == config_.end() || !found->is_array()) return std::nullopt;
  return static_cast<std::uint64_t>(std::ranges::count_if(
      *found, [&](const ForeignJson& each) { return each.is_string() && each == word; }));
}

namespace {

/// The layers that have experts instead of one feed-forward part, and what one of them takes.
struct Experts {
  std::uint64_t layers = 0;
  std::uint64_t feed = 0;
};

Experts experts_of(const Family& family, const ModelShape& shape, Dimensions& from) {
  const std::uint64_t h = shape.hidden;
  if (family.type == "mixtral" || family.type == "gpt_oss") {
    const std::uint64_t inner = from.need({"intermediate_size"}, most_inner);
    const std::uint64_t experts = from.need({"num_local_experts"}, most_experts);
    const bool biased = family.type == "gpt_oss";
    const std::uint64_t each = 3 * h * inner + (biased ? 2 * inner + h : 0);
    return {shape.layers, experts * (each + h + (biased ? 1 : 0))};
  }
  if (family.type == "qwen3_moe") {
    const std::uint64_t inner = from.need({"moe_intermediate_size"}, most_inner);
    const std::uint64_t experts = from.need({"num_experts"}, most_experts);
    return {shape.layers / from.need({"decoder_sparse_step"}, most_layers, 1),
            experts * (3 * h * inner + h)};
  }
  if (family.type == "llama4_text") {
    const std::uint64_t inner = from.need({"intermediate_size"}, most_inner);
    const std::uint64_t experts = from.need({"num_local_experts"}, most_experts);
    return {shape.layers / from.need({"interleave_moe_layer_step"}, most_layers, 1),
            (experts + 1) * 3 * h * inner + experts * h};  // one more that all tokens share
  }
  if (family.kind == Family::Kind::latent) {
    const std::uint64_t inner = from.need({"moe_intermediate_size"}, most_inner);
    const std::uint64_t experts = from.need({"n_routed_experts"}, most_experts);
    const std::uint64_t shared = from.count("n_shared_experts", most_experts, 0);
    const std::uint64_t dense = from.count("first_k_dense_replace", most_layers, 0);
    return {shape.layers - std::min(dense, shape.layers),
            (experts + shared) * 3 * h * inner + experts * (h + 1)};
  }
  return {};
}

/// Query, key, value and output of a layer.
std::uint64_t attention_parameters(const Family& family, const ModelShape& shape,
                                   Dimensions& from) {
  const std::uint64_t h = shape.hidden;
  if (family.kind == Family::Kind::latent) {
    const std::uint64_t keys = from.need({"kv_lora_rank"}, most_inner);
    const std::uint64_t rope = from.need({"qk_rope_head_dim"}, 4096);
    const std::uint64_t nope = from.need({"qk_nope_head_dim"}, 4096);
    const std::uint64_t values = from.need({"v_head_dim"}, 4096);
    const std::uint64_t queries = shape.heads * (nope + rope);
    const auto rank = from.find("q_lora_rank", most_inner);
    const std::uint64_t query = rank ? h * *rank + *rank + *rank * queries : h * queries;
    return query + h * (keys + rope) + keys + keys * shape.heads * (nope + values) +
           shape.heads * values * h;
  }
  const std::uint64_t queries = shape.heads * shape.head_size;
  const std::uint64_t keys = shape.kv_heads * shape.head_size;
  std::uint64_t all = h * queries * 2 + h * keys * 2;
  if (family.attention_bias) {
    all += queries + 2 * keys;
  } else if (from.flag("attention_bias", family.type == "gpt_oss")) {
    all += queries + 2 * keys + h;
  }
  if (family.type == "gpt_oss") all += shape.heads;  // a sink for each
  if (family.head_norms) all += 2 * shape.head_size;
  return all;
}

/// llama and what descends from it: RMS norms, a gated feed-forward part, maybe several of them.
std::uint64_t gated_parameters(const Family& family, const ModelShape& shape, Dimensions& from) {
  const std::uint64_t h = shape.hidden;
  const std::uint64_t attention = attention_parameters(family, shape, from) +
                                  static_cast<std::uint64_t>(family.norms_per_layer) * h;
  const Experts experts = experts_of(family, shape, from);
  std::uint64_t all = shape.layers * attention + experts.layers * experts.feed + h;
  if (experts.layers < shape.layers) {
    const std::uint64_t inner = family.type == "llama4_text"
                                    ? from.need({"intermediate_size_mlp"}, most_inner)
                                    : from.need({"intermediate_size"}, most_inner);
    std::uint64_t feed = 3 * h * inner;
    if (from.flag("mlp_bias", false)) feed += 2 * inner + h;
    all += (shape.layers - experts.layers) * feed;
  }
  const std::uint64_t words = shape.vocabulary * h;
  // A layer that predicts the token after the next is stored with its own embeddings.
  if (from.count("num_nextn_predict_layers", 8, 0) > 0) {
    all += attention + experts.feed + 2 * h * h + 3 * h + 2 * words;
  }
  return all + words * (from.flag("tie_word_embeddings", family.tied) ? 1 : 2);
}

/// A layer with biases everywhere: attention, two products and two layer norms.
std::uint64_t plain_layer(std::uint64_t h, std::uint64_t inner) {
  return 4 * h * h + 4 * h + 2 * h * inner + inner + h + 4 * h;
}

/// gpt2, gpt_neox and opt: layer norms and biases everywhere.
std::uint64_t gpt_parameters(const Family& family, const ModelShape& shape, Dimensions& from) {
  const std::uint64_t h = shape.hidden;
  const auto given = family.type == "opt"    ? from.find("ffn_dim", most_inner)
                     : family.type == "gpt2" ? from.find("n_inner", most_inner)
                                             : from.find("intermediate_size", most_inner);
  const std::uint64_t layer = plain_layer(h, given.value_or(4 * h));
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
  const std::uint64_t pooler = h * h + h;
  return (shape.vocabulary + places + types) * h + 2 * h + shape.layers * plain_layer(h, inner) +
         pooler;
}

std::uint64_t falcon_parameters(const Family& family, const ModelShape& shape, Dimensions& from) {
  const std::uint64_t h = shape.hidden;
  const std::uint64_t inner = from.find("ffn_hidden_size", most_inner).value_or(4 * h);
  const std::uint64_t rows = (shape.heads + 2 * shape.kv_heads) * shape.head_size;
  std::uint64_t layer = h * rows + h * h + 2 * h * inner;
  if (from.flag("bias", false)) layer += rows + h + inner + h;
  const bool one_norm =
      from.flag("parallel_attn", true) && !from.flag("new_decoder_architecture", false);
  layer += (one_norm ? 2 : 4) * h;
  const bool tied = from.flag("tie_word_embeddings", family.tied);
  return shape.vocabulary * h * (tied ? 1 : 2) + shape.layers * layer + 2 * h;
}

std::uint64_t phi_parameters(const ModelShape& shape, Dimensions& from) {
  const std::uint64_t h = shape.hidden;
  const std::uint64_t inner = from.need({"intermediate_size"}, most_inner);
  const std::uint64_t keys = shape.kv_heads * shape.head_size;
  const std::uint64_t layer =
      2 * (h * h + h) + 2 * (h * keys + keys) + 2 * h * inner + inner + h + 2 * h;
  return 2 * shape.vocabulary * h + shape.vocabulary + shape.layers * layer + 2 * h;
}

std::uint64_t t5_parameters(const Family& family, const ModelShape& shape, Dimensions& from) {
  const std::uint64_t h = shape.hidden;
  const std::uint64_t inner = from.need({"d_ff"}, most_inner);
  const std::uint64_t read = from.need({"num_layers"}, most_layers);
  const std::uint64_t attention = 4 * h * shape.heads * shape.head_size;
  const bool gated = from.word("feed_forward_proj").starts_with("gated");
  const std::uint64_t feed = (gated ? 3 : 2) * h * inner;
  const std::uint64_t places =
      2 * from.need({"relative_attention_num_buckets"}, most_words, 32) * shape.heads;
  const bool tied = from.flag("tie_word_embeddings", family.tied);
  return shape.vocabulary * h * (tied ? 1 : 2) + read * (attention + feed + 2 * h) +
         shape.layers * (2 * attention + feed + 3 * h) + places + 2 * h;
}

std::uint64_t whisper_parameters(const ModelShape& shape, Dimensions& from) {
  const std::uint64_t d = shape.hidden;
  const std::uint64_t read = from.need({"encoder_layers"}, most_layers);
  const std::uint64_t mel = from.need({"num_mel_bins"}, most_hidden);
  const std::uint64_t attention = 4 * d * d + 3 * d;  // keys have no bias
  const auto feed = [&](const char* key) {
    const std::uint64_t inner = from.need({key}, most_inner);
    return 2 * d * inner + inner + d;
  };
  const std::uint64_t places = from.need({"max_source_positions"}, most_words, 1500) +
                               from.need({"max_target_positions"}, most_words, 448);
  return 3 * mel * d + 3 * d * d + 2 * d + (shape.vocabulary + places) * d +
         read * (attention + feed("encoder_ffn_dim") + 4 * d) +
         shape.layers * (2 * attention + feed("decoder_ffn_dim") + 6 * d) + 4 * d;
}

}  // namespace

std::uint64_t vision_parameters(Dimensions& from) {
  const std::uint64_t h = from.need({"hidden_size"}, most_hidden);
  const std::uint64_t inner = from.need({"intermediate_size"}, most_inner);
  const std::uint64_t layers = from.need({"num_hidden_layers"}, most_layers);
  const std::uint64_t patch = from.need({"patch_size"}, 4096);
  const std::uint64_t side = from.need({"image_size"}, 1 << 16) / patch;
  const std::uint64_t colours = from.need({"num_channels"}, 4096, 3);
  return (colours * patch * patch + 1) * h + (side * side + 1) * h +
         layers * plain_layer(h, inner) + 2 * h;
}

std::uint64_t parameters_of(const Family& family, const ModelShape& shape, Dimensions& from) {
  switch (family.kind) {
    case Family::Kind::gated:
    case Family::Kind::latent:
      return gated_parameters(family, shape, from);
    case Family::Kind::gpt:
      return gpt_parameters(family, shape, from);
    case Family::Kind::bert:
      return bert_parameters(shape, from);
    case Family::Kind::falcon:
      return falcon_parameters(family, shape, from);
    case Family::Kind::phi:
      return phi_parameters(shape, from);
    case Family::Kind::t5:
      return t5_parameters(family, shape, from);
    case Family::Kind::whisper:
      return whisper_parameters(shape, from);
    case Family::Kind::vit:
      return vision_parameters(from) + shape.hidden;  // and the token of the class
  }
  return 0;
}

namespace {

std::uint64_t resnet(std::uint64_t in, std::uint64_t out, std::uint64_t time) {
  const std::uint64_t around = in == out ? 0 : in * out + out;
  return 2 * in + 9 * in * out + out + time * out + out + 2 * out + 9 * out * out + out + around;
}

std::uint64_t image_transformer(std::uint64_t c, std::uint64_t depth, std::uint64_t words) {
  const std::uint64_t own = 4 * c * c + c;
  const std::uint64_t crossed = 2 * c * c + 2 * words * c + c;
  const std::uint64_t feed = 8 * c * c + 8 * c + 4 * c * c + c;
  return 2 * c + 2 * (c * c + c) + depth * (6 * c + own + crossed + feed);
}

std::vector<std::uint64_t> numbers_in(const ForeignJson& config, const char* key) {
  std::vector<std::uint64_t> all;
  const auto found = config.find(key);
  if (found == config.end() || !found->is_array() || found->size() > 16) return {};
  for (const auto& each : *found) {
    const auto number = number_in<std::uint64_t>(each);
    if (!number || *number == 0 || *number > (1 << 16)) return {};
    all.push_back(*number);
  }
  return all;
}

}  // namespace

std::optional<std::uint64_t> unet_parameters(const ForeignJson& config) {
  Dimensions from(config);
  const auto widths = numbers_in(config, "block_out_channels");
  auto depths = numbers_in(config, "transformer_layers_per_block");
  if (widths.empty()) return std::nullopt;
  const std::size_t blocks = widths.size();
  if (depths.empty()) depths.assign(blocks, from.need({"transformer_layers_per_block"}, 64, 1));
  const std::uint64_t words = from.need({"cross_attention_dim"}, 1 << 16);
  const std::uint64_t each = from.need({"layers_per_block"}, 64, 2);
  const auto kinds = config.find("down_block_types");
  const bool listed = kinds != config.end() && kinds->is_array() && kinds->size() == blocks;
  if (!listed || depths.size() != blocks || !from.problem().empty()) return std::nullopt;
  const auto attends = [&](std::size_t i) { return (*kinds)[i] == "CrossAttnDownBlock2D"; };
  const std::uint64_t first = widths.front();
  const std::uint64_t time = 4 * first;
  const std::uint64_t in = from.need({"in_channels"}, 4096, 4);
  const std::uint64_t out = from.need({"out_channels"}, 4096, 4);
  std::uint64_t all = 9 * in * first + first + 2 * first + 9 * first * out + out;
  all += first * time + time + time * time + time;
  if (const auto more = from.find("projection_class_embeddings_input_dim", 1 << 16)) {
    all += *more * time + time + time * time + time;
  }
  std::vector<std::uint64_t> kept = {first};  // what the way up takes back
  std::uint64_t before = first;
  for (std::size_t i = 0; i < blocks; ++i) {
    const std::uint64_t c = widths[i];
    for (std::uint64_t j = 0; j < each; ++j) {
      all += resnet(before, c, time) + (attends(i) ? image_transformer(c, depths[i], words) : 0);
      before = c;
      kept.push_back(c);
    }
    if (i + 1 == blocks) continue;
    all += 9 * c * c + c;
    kept.push_back(c);
  }
  all += 2 * resnet(before, before, time) + image_transformer(before, depths.back(), words);
  for (std::size_t i = blocks; i-- > 0;) {
    const std::uint64_t c = widths[i];
    for (std::uint64_t j = 0; j <= each; ++j) {
      all += resnet(before + kept.back(), c, time) +
             (attends(i) ? image_transformer(c, depths[i], words) : 0);
      kept.pop_back();
      before = c;
    }
    if (i > 0) all += 9 * c * c + c;
  }
  return all;
}

}  // namespace berth
